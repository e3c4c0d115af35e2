"""How a session ended, worded for the user; the record has *killed*."""

from __future__ import annotations

from rookery.client.sessions import SessionInfo

#: The actors other than sessions that end sessions.
_BY = {"person": "by you", "idle": "after a long time without activity"}


def ended_by(session: SessionInfo) -> str:
    """Return what ended a session; empty if it is live or ended by itself.

    If another session ended it, the text contains that session's id.
    """
    if session.status != "killed":
        return ""
    by = session.ended_by
    return f"ended {_BY.get(by, f'by {by}')}" if by else "ended"
