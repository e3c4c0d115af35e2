"""Word times for people: how long ago, how long still."""

from __future__ import annotations

from datetime import datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def age(moment: str, now: datetime) -> str:
    """Return the time since a moment in its largest unit, such as 5m."""
    seconds = int((now - datetime.fromisoformat(moment)).total_seconds())
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"


def time_left(moment: str, now: datetime) -> str:
    """Return the time until a moment in minutes and seconds."""
    remaining = datetime.fromisoformat(moment) - now
    minutes, seconds = divmod(max(int(remaining.total_seconds()), 0), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"
