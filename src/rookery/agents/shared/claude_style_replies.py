"""Write decisions on tool calls as Claude Code and the agents like it read them."""

from __future__ import annotations

from rookery.model.permissions import PLAN, Outcome, Verdict
from rookery.ports.agent import Payload

#: The answer to an undecided call, for agents whose hooks cannot make them ask the user.
UNDECIDED = Verdict(Outcome.DENIED, "nobody", "Nobody was there to decide this.")


def decision_before_tool(verdict: Verdict | None) -> dict[str, object]:
    """Return the decision on a call that the agent is about to make."""
    if verdict is None or verdict.outcome is Outcome.GONE:
        # An empty answer would let the call run, although the request has no decision.
        return {"permissionDecision": "ask"}
    if verdict.outcome is Outcome.ALLOWED:
        why = {"permissionDecisionReason": verdict.reason} if verdict.reason else {}
        return {"permissionDecision": "allow", **why}
    return {"permissionDecision": "deny", "permissionDecisionReason": denial_reason(verdict)}


def permission_decision(payload: Payload, verdict: Verdict) -> dict[str, object]:
    """Return the answer to a permission dialog or a question."""
    match verdict.outcome:
        case Outcome.ALLOWED if payload.get("tool_name") == PLAN and isinstance(
            payload.get("tool_input"), dict
        ):
            # Without an updated input, Claude ignores the answer and the dialog stays open.
            return {"behavior": "allow", "updatedInput": payload["tool_input"]}
        case Outcome.ALLOWED:
            return {"behavior": "allow"}
        case Outcome.ANSWERED:
            answers = {text: ", ".join(given) for text, given in verdict.answers.items()}
            return {
                "behavior": "allow",
                "updatedInput": {**payload["tool_input"], "answers": answers},
            }
        case _:
            return {"behavior": "deny", "message": denial_reason(verdict)}


def denial_reason(verdict: Verdict) -> str:
    """Return the reason of a denial, which is never empty.

    Codex treats a denial without a reason as a broken hook, and runs the call.
    """
    return verdict.reason.strip() or "It was denied."


def answers_as_reason(verdict: Verdict) -> str:
    """Return a person's answers as the reason of a denial, for hooks that can only deny."""
    said = (f"{text} {', '.join(given)}" for text, given in verdict.answers.items())
    return f"The person has answered: {'; '.join(said)}"
