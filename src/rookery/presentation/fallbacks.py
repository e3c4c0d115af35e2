"""Determine the possible outcome of a request that is not answered in time."""

from __future__ import annotations

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import SessionInfo
from rookery.model.permissions import STOP


def fallback_of(request: RequestInfo, session: SessionInfo | None) -> str:
    """Return the possible outcome at the deadline: ``dialog``, ``denial`` or ``stop``."""
    if request.tool == STOP:
        return "stop"
    is_headless = session is not None and session.is_headless
    return "dialog" if request.has_dialog and not is_headless else "denial"
