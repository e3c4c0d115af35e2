"""Read from a hook in Claude's style why a tool call failed."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.model.reason_texts import failure_text


def failure_of(payload: Mapping[str, object]) -> str:
    """Return why a tool call failed, in one line; empty if it did not."""
    if payload.get("hook_event_name") != "PostToolUseFailure":
        return ""
    error = payload.get("error")
    return failure_text(error if isinstance(error, str) else "")
