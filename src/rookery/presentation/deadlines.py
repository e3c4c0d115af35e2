"""Word what happens to a request that is not answered in time."""

from __future__ import annotations

from datetime import datetime

from rookery.presentation.ages import time_left


def at_deadline(moment: str, on_timeout: str, fallback: str, now: datetime) -> str:
    """Return what happens to a request that is not answered, and when.

    ``fallback`` is the possible outcome, as ``fallbacks.fallback_of`` returns it.
    """
    return f"{_consequence(on_timeout, fallback)} in {time_left(moment, now)}"


def _consequence(on_timeout: str, fallback: str) -> str:
    if fallback == "stop":
        return "it may stop"
    if fallback == "denial" or on_timeout == "deny":
        return "it is denied"
    return "its terminal takes over"
