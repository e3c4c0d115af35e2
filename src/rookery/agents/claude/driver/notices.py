"""Word what Claude Code reports besides the conversation, such as retries. Pure."""

from __future__ import annotations

from rookery.agents.claude.driver.content import Frame
from rookery.drivers.events import Noticed


def notice(frame: Frame) -> Noticed | None:  # noqa: PLR0911 - a table
    """Return what a message reports that has no effect on the state; ``None`` if nothing."""
    match frame:
        case {"type": "system", "subtype": "api_retry"}:
            return Noticed("api-retry", _retry(frame))
        case {"type": "system", "subtype": "status", "status": "compacting"}:
            return Noticed("compacting")
        case {"type": "system", "subtype": "compact_boundary"}:
            return Noticed("compacted")
        case {"type": "system", "subtype": "informational", "content": str(text)}:
            return Noticed("information", text)
        case {"type": "system", "subtype": "task_notification", "summary": str(summary)}:
            return Noticed("background-task-ended", summary)
        case {"type": "rate_limit_event", "rate_limit_info": {"status": str(status)} as limit}:
            kind = limit.get("rateLimitType", "")
            return (
                Noticed("rate-limit", f"{status} {kind}".strip())
                if status != "allowed"
                else None
            )
        case _:
            return None


def _retry(frame: Frame) -> str:
    status, error = frame.get("error_status"), frame.get("error", "unknown")
    number, limit = frame.get("attempt"), frame.get("max_retries")
    what = f"{error} ({status})" if status else f"{error}"
    delay = frame.get("retry_delay_ms")
    soon = f", again in {delay / 1000:.1f} s" if isinstance(delay, int | float) else ""
    return f"API error: {what}. Retry {number} of {limit}{soon}."
