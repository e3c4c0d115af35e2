"""How a session ended, in a user's words; the record says *killed*."""

from __future__ import annotations

from rookery.client.sessions import SessionInfo

#: The actors that end sessions, besides sessions.
_BY = {"person": "by you", "idle": "after a long time without activity"}


def ended_by(session: SessionInfo) -> str:
    """Say what ended a session; empty if it ended by itself, or lives.

    A session that ended it is named by its id.
    """
    if session.status != "killed":
        return ""
    by = session.ended_by
    return f"ended {_BY.get(by, f'by {by}')}" if by else "ended"
