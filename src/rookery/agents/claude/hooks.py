"""Read and answer the hooks of Claude Code."""

from __future__ import annotations

from rookery.agents.claude import NAME, elicitation
from rookery.agents.shared.claude_style_hooks import ClaudeStyleHooks
from rookery.model.permissions import Call, Verdict
from rookery.ports.agent import HookTraits, Payload

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("PostToolUseFailure", "Notification", "Stop", "StopFailure", "SubagentStart"),
    *("SubagentStop", "PreCompact", "PostCompact", "SessionEnd"),
    *("Elicitation", "ElicitationResult", "PostModelSwitch"),
)


class ClaudeHooks(ClaudeStyleHooks):
    def read_call(self, payload: Payload) -> Call | None:
        return elicitation.read(payload) or super().read_call(payload)

    def answer(self, payload: Payload, verdict: Verdict | None) -> str:
        if payload["hook_event_name"] == "Elicitation":
            return elicitation.answer(payload, verdict)
        return super().answer(payload, verdict)


HOOKS = ClaudeHooks(
    agent=NAME,
    traits=HookTraits(
        before_tool="PreToolUse",
        permission="PermissionRequest",
        obeys_ask=True,
        reports_start=True,
        same_tools=(frozenset({"Agent", "Task"}),),
    ),
    tells_mode=True,
    edits={
        "Edit": "file_path",
        "MultiEdit": "file_path",
        "Write": "file_path",
        "NotebookEdit": "notebook_path",
    },
)
