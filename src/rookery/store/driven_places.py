"""Store which starts of driven sessions have a place within their limit."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import NOT_DRIVEN
from rookery.store import sessions
from rookery.store.sessions import LIVE


def must_wait(db: Connection, session: SessionId, *, limit: int) -> bool:
    """Return whether a start has to wait for a place: first come, first served."""
    if sessions.has_runtime(db, session):
        return False
    return count(db, launched=True) + _count_earlier(db, session) >= limit


def count(db: Connection, *, launched: bool = False) -> int:
    """Count the live driven sessions, or only those that have been launched."""
    marks = ", ".join("?" for _ in NOT_DRIVEN)
    query = f"select count(*) from sessions where {LIVE} and runtime not in ({marks})"
    if launched:
        query += " and is_held"
    return int(db.execute(query, NOT_DRIVEN).fetchone()[0])


def _count_earlier(db: Connection, session: SessionId) -> int:
    """Count the driven sessions that were requested before this one and wait for a place."""
    marks = ", ".join("?" for _ in NOT_DRIVEN)
    query = (
        f"select count(*) from sessions where {LIVE} and runtime not in ({marks})"
        " and status = 'starting' and not is_held"
        " and (created_at, id) < (select created_at, id from sessions where id = ?)"
        " and not exists (select 1 from workspaces"
        " where session = sessions.id and state = 'requested')"
    )
    return int(db.execute(query, (*NOT_DRIVEN, session)).fetchone()[0])
