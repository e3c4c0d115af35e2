"""Word what holds a session, if that is not a terminal of Rookery's own."""

from __future__ import annotations

from rookery.client.sessions import SessionInfo


def runtime_mark(session: SessionInfo) -> str:
    """Return the word that marks a session in lists; empty for one in Rookery's tmux."""
    if session.is_driven:
        return "driven"
    return "" if session.is_ours else session.runtime


def runtime_text(session: SessionInfo) -> str:
    """Return the mark of a session; that of a driven session also names its runtime."""
    mark = runtime_mark(session)
    return f"{mark} ({session.runtime})" if session.is_driven else mark
