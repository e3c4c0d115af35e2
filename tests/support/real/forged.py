"""What a forger tries to claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.real.rookery import Rookery

#: What would move a session, end it, or have something decided for it.
FORGED: tuple[Mapping[str, object], ...] = (
    {"hook_event_name": "SessionStart", "model": "forged"},
    {"hook_event_name": "UserPromptSubmit", "prompt": "forged"},
    {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}},
    {"hook_event_name": "Stop", "last_assistant_message": "forged"},
    {"hook_event_name": "Notification", "message": "forged"},
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}},
    {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {}},
    {"hook_event_name": "SessionEnd", "reason": "clear"},
    {"hook_event_name": "SessionEnd", "reason": "other"},
)


def listed(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("sessions")["sessions"]
    return found
