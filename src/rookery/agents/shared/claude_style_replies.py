"""Format decisions about tool calls for Claude Code and agents with the same hook format."""

from __future__ import annotations

from typing import Any

from rookery.model.permissions import PLAN, Outcome, Verdict
from rookery.ports.agent import Payload

#: The answer to an undecided call, for agents whose hooks cannot make them ask the user.
UNDECIDED = Verdict(
    Outcome.DENIED, "nobody", "Denied: this permission request was not answered."
)


def pre_tool_use_output(verdict: Verdict | None) -> dict[str, object]:
    """Return the answer to a PreToolUse hook."""
    if verdict is None or verdict.outcome is Outcome.GONE:
        # An empty answer would allow the call, although the request has no decision.
        return {"permissionDecision": "ask"}
    if verdict.outcome is Outcome.ALLOWED:
        why = {"permissionDecisionReason": verdict.reason} if verdict.reason else {}
        return {"permissionDecision": "allow", **why}
    return {"permissionDecision": "deny", "permissionDecisionReason": denial_reason(verdict)}


def permission_request_output(payload: Payload, verdict: Verdict) -> dict[str, object]:
    """Return the answer to a PermissionRequest hook, which asks for a decision or answers."""
    tool_input: Any = payload.get("tool_input")
    is_plan = payload.get("tool_name") == PLAN and isinstance(tool_input, dict)
    match verdict.outcome:
        case Outcome.ALLOWED if is_plan:
            # Without an updated input, Claude ignores the answer and the dialog stays open.
            return {"behavior": "allow", "updatedInput": tool_input}
        case Outcome.ALLOWED:
            return {"behavior": "allow"}
        case Outcome.ANSWERED:
            answers = {text: ", ".join(chosen) for text, chosen in verdict.answers.items()}
            return {"behavior": "allow", "updatedInput": {**tool_input, "answers": answers}}
        case _:
            return {"behavior": "deny", "message": denial_reason(verdict)}


def denial_reason(verdict: Verdict) -> str:
    """Return the reason for a denial, which is never empty.

    Codex treats a denial without a reason as a broken hook, and runs the call.
    """
    return verdict.reason.strip() or "Denied without a reason."


def answers_as_reason(verdict: Verdict) -> str:
    """Format the user's answers as a denial reason, for hooks that cannot return answers."""
    answers = (f"{text} {', '.join(chosen)}" for text, chosen in verdict.answers.items())
    return f"The user answered: {'; '.join(answers)}"
