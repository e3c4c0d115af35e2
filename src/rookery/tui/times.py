"""Times as short texts: the age of a state, and the time left until a deadline."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=4_096)
def moment(text: str) -> datetime:
    """Return the time that an ISO 8601 text means; cached, because ages are drawn often."""
    return datetime.fromisoformat(text)


def ago(since: str, now: datetime) -> str:
    """Return the time since a moment, as one number and its unit."""
    if not since:
        return ""
    seconds = int((now - moment(since)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"


def until(deadline: str, now: datetime) -> str:
    """Return the time left until a moment."""
    seconds = max(int((moment(deadline) - now).total_seconds()), 0)
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
