"""Records the end of a session. Every end passes through here, exactly once."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import Outcome, SessionEnded, SessionId
from rookery.model.lifecycle import Status
from rookery.store import sessions, tokens
from rookery.store.journal import Journal

#: Characters of a reason: a screenful.
MAX_REASON_CHARACTERS = 4_000


def end(  # noqa: PLR0913 - how a session ended, by keyword
    db: Connection,
    journal: Journal,
    session: SessionId,
    *,
    outcome: Outcome,
    reason: str,
    at: datetime | None = None,
    lost: bool = False,
) -> bool:
    """Record that a session has ended. False, with nothing done, if it had already.

    ``lost`` is whether it ended because the daemon, tmux or the computer did.
    """
    now = sessions.get(db, session)
    if now.status.is_over:
        return False
    if now.status is Status.CLOSING:
        outcome, lost = "killed", False  # it ends because it was asked to
    ended = SessionEnded(session, reason[:MAX_REASON_CHARACTERS], outcome, lost)
    journal.append(db, ended, at=at)
    tokens.take_badge(db, session, at=journal.clock.now())
    return True
