"""Store how far the event streams of driven sessions are recorded."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import NativeId, Session
from rookery.store import sessions
from rookery.store.sessions import LIVE


def last_number(db: Connection, session: SessionId) -> int:
    """Return the number of the last event that is recorded; 0 if none is."""
    row = db.execute(
        "select number from driven_streams where session = ?", (session,)
    ).fetchone()
    return int(row["number"]) if row else 0


def advance(db: Connection, session: SessionId, number: int) -> None:
    """Record that all events up to a number are recorded."""
    db.execute(
        "insert into driven_streams (session, number) values (?, ?)"
        " on conflict do update set number = max(number, excluded.number)",
        (session, number),
    )


def note_total_cost(db: Connection, session: SessionId, total: int) -> None:
    """Store the agent's own running total of the conversation's cost."""
    db.execute(
        "insert into driven_streams (session, total_cost) values (?, ?)"
        " on conflict do update set total_cost = excluded.total_cost",
        (session, total),
    )


def total_cost(db: Connection, session: SessionId) -> int:
    """Return the agent's last running total of a conversation; 0 if it reported none."""
    row = db.execute(
        "select total_cost from driven_streams where session = ?", (session,)
    ).fetchone()
    return (row["total_cost"] or 0) if row else 0


def earlier_cost(db: Connection, session: Session) -> int:
    """Return the agent's own total cost of the conversation that a session continues.

    It is the total that the last of the earlier sessions reported: a session that ended before
    its first turn has reported none.
    """
    earlier = session.continues
    while earlier and sessions.is_known(db, earlier):
        if cost := total_cost(db, earlier):
            return cost
        earlier = sessions.get(db, earlier).continues
    return 0


def live_holder(db: Connection, session: SessionId, native_id: NativeId) -> str | None:
    """Return the name of another live session of the same agent with this native id."""
    row = db.execute(
        f"select name from sessions where {LIVE} and id <> ?1 and native_id = ?2"
        " and agent = (select agent from sessions where id = ?1)",
        (session, native_id),
    ).fetchone()
    return row["name"] if row else None


def set_native_id(db: Connection, session: SessionId, native_id: NativeId) -> None:
    db.execute("update sessions set native_id = ? where id = ?", (native_id, session))


def set_process(db: Connection, session: SessionId, process: str) -> None:
    """Store the process of a session's agent: what it starts belongs to the session."""
    db.execute("update sessions set process = ? where id = ?", (process, session))
