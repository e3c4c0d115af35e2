"""Word what happens to a request that is not answered in time."""

from __future__ import annotations

from datetime import datetime

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import SessionInfo
from rookery.model.permissions import STOP
from rookery.presentation.ages import time_left


def fallback_of(request: RequestInfo, session: SessionInfo | None) -> str:
    """Return the possible outcome at the deadline: ``dialog``, ``denial`` or ``stop``."""
    if request.tool == STOP:
        return "stop"
    is_headless = session is not None and session.is_headless
    return "dialog" if request.has_dialog and not is_headless else "denial"


def at_deadline(moment: str, on_timeout: str, fallback: str, now: datetime) -> str:
    """Return what happens to a request that is not answered, and when."""
    return f"{_consequence(on_timeout, fallback)} in {time_left(moment, now)}"


def _consequence(on_timeout: str, fallback: str) -> str:
    if fallback == "stop":
        return "it may stop"
    if fallback == "denial" or on_timeout == "deny":
        return "it is denied"
    return "its terminal takes over"
