"""Read and answer the hooks of Codex."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from rookery.agents.codex import NAME
from rookery.agents.shared.claude_style_hooks import (
    DECISION_TIMEOUT_S,
    HOOK_TIMEOUT_S,
    ClaudeStyleHooks,
)
from rookery.agents.shared.claude_style_replies import UNDECIDED, answers_as_reason
from rookery.agents.shared.edited_files import files_in_patch
from rookery.agents.shared.tool_arguments import bounded_argument
from rookery.model.facts import Fact, SessionId, ToolUsed
from rookery.model.permissions import Outcome, Verdict
from rookery.ports.agent import HookTraits, Payload

#: Each event, its name in Codex's list of trusted hooks, and the timeout in seconds.
EVENTS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("session_start", HOOK_TIMEOUT_S),
    "UserPromptSubmit": ("user_prompt_submit", HOOK_TIMEOUT_S),
    "PreToolUse": ("pre_tool_use", DECISION_TIMEOUT_S),
    "PermissionRequest": ("permission_request", DECISION_TIMEOUT_S),
    "PostToolUse": ("post_tool_use", HOOK_TIMEOUT_S),
    "Stop": ("stop", DECISION_TIMEOUT_S),
    "Interrupt": ("interrupt", 3),
    "SessionEnd": ("session_end", 3),
}


def patched_files(tool_input: Mapping[str, Any]) -> str:
    """Return the files that a patch changes; empty if the input has no patch."""
    patch = tool_input.get("command")
    return bounded_argument(", ".join(files_in_patch(patch))) if isinstance(patch, str) else ""


class CodexHooks(ClaudeStyleHooks):
    def read(self, payload: Payload, session: SessionId) -> Iterable[Fact]:
        for fact in super().read(payload, session):
            # If the model chose a folder for a command, the hook names that folder.
            is_use = isinstance(fact, ToolUsed)
            yield structs.replace(fact, folder=payload["cwd"]) if is_use else fact

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        """Return the hook's answer.

        Codex runs the tool if it does not understand the answer.
        """
        if payload["hook_event_name"] != "PreToolUse":
            return super().answer(payload, verdict)
        if verdict is None or verdict.outcome is Outcome.GONE:
            return super().answer(payload, UNDECIDED)
        if verdict.outcome is Outcome.ANSWERED:
            reason = answers_as_reason(verdict)
            return super().answer(payload, Verdict(Outcome.DENIED, verdict.by, reason))
        return super().answer(payload, verdict) if verdict.outcome is Outcome.DENIED else ""


HOOKS = CodexHooks(
    agent=NAME,
    question=("PreToolUse", "request_user_input"),
    arguments={"apply_patch": patched_files},
    edits={"apply_patch": "command"},
    traits=HookTraits(
        before_tool="PreToolUse", permission="PermissionRequest", doubles_hooks=True
    ),
)
