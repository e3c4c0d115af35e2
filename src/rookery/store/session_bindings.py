"""Find sessions by their agents' native ids and processes, and bind these to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.sessions import Badge, NativeId, Sender, Session
from rookery.store.sessions import LIVE, read_session
from rookery.store.tokens import digest


def known(db: Connection, sender: Sender) -> SessionId | None:
    """Return the session that has the sender's native id, a live one before one that is over.

    A late hook belongs to the session that is over; a start always begins a new session.
    """
    row = db.execute(
        f"select id, {LIVE} as is_live from sessions"
        " where agent = ? and native_id = ? order by is_live desc, since desc limit 1",
        (sender.agent, sender.native_id),
    ).fetchone()
    if row is None or (sender.is_new and not row["is_live"]):
        return None
    return SessionId(row["id"])


def bind(db: Connection, badge: Badge, sender: Sender) -> SessionId | None:
    """Give the sender's native id to the session of ``badge``, if it has none yet.

    A bound session is never bound again: a nested agent inherits the badge, not the session.
    """
    row = db.execute(
        "update sessions set native_id = ? where agent = ? and native_id is null"
        " and id = (select session from tokens where digest = ? and revoked_at is null)"
        f" and {LIVE} returning id",
        (sender.native_id, sender.agent, digest(badge)),
    ).fetchone()
    return SessionId(row["id"]) if row else None


def rebind(db: Connection, process: str, sender: Sender) -> SessionId | None:
    """Give the sender's native id to the live session of its process, replacing any other."""
    row = db.execute(
        f"update sessions set native_id = ? where process = ? and agent = ? and {LIVE}"
        " returning id",
        (sender.native_id, process, sender.agent),
    ).fetchone()
    return SessionId(row["id"]) if row else None


def of_caller(
    db: Connection, agent: str, badge: Badge | None, process: str | None
) -> SessionId | None:
    """Return the live session with the badge or the process, regardless of its native id."""
    row = db.execute(
        f"select id from sessions indexed by sessions_live where agent = ? and {LIVE}"
        " and (process = ? or id = (select session from tokens"
        " where digest = ? and revoked_at is null))",
        (agent, process, digest(badge) if badge else None),
    ).fetchone()
    return SessionId(row["id"]) if row else None


def sharing_conversation(db: Connection, session: Session) -> dict[SessionId, str]:
    """Return the names of the other live sessions that write to the same transcript, by id."""
    if not session.transcript_path:
        return {}
    rows = db.execute(
        f"select id, name from sessions where {LIVE} and id <> ? and agent = ?"
        " and transcript_path = ? and transcript_path <> '' order by name",
        (session.id, session.agent, session.transcript_path),
    )
    return {SessionId(row["id"]): row["name"] for row in rows}


def of_process(
    db: Connection, agent: str, process: str, native_id: NativeId
) -> SessionId | None:
    """Return the live session of a process, else of its native id; store the missing one."""
    row = db.execute(
        f"select id from sessions where agent = ? and {LIVE} and (process = ?"
        " or (native_id = ? and process is null)) order by process is null limit 1",
        (agent, process, native_id),
    ).fetchone()
    if row is None:
        return None
    # Another live session may have the native id: then this is a second process of one
    # conversation, and keeps the native id that it had.
    db.execute(
        "update or ignore sessions set process = ?, native_id = ? where id = ?",
        (process, native_id, row["id"]),
    )
    return SessionId(row["id"])


def holder_of_process(db: Connection, process: str) -> SessionId | None:
    row = db.execute(
        f"select id from sessions where process = ? and {LIVE}", (process,)
    ).fetchone()
    return SessionId(row["id"]) if row else None


def ended_at(db: Connection, agent: str, process: str, native_id: NativeId) -> datetime | None:
    """Return when the last session with this process and native id ended, if any did."""
    (at,) = db.execute(
        "select max(ended_at) from sessions where agent = ? and native_id = ? and process = ?",
        (agent, native_id, process),
    ).fetchone()
    return datetime.fromisoformat(at) if at else None


def of_processes(db: Connection, processes: Sequence[str]) -> dict[str, SessionId]:
    """Return the session of each of these processes; a live one before one that is over."""
    marks = ", ".join("?" * len(processes))
    rows = db.execute(
        f"select process, id from sessions where process in ({marks})"
        " order by ended_at is null, ended_at",
        (*processes,),
    )
    return {row["process"]: SessionId(row["id"]) for row in rows}


def in_conversation(db: Connection, agent: str, native_id: NativeId) -> Session | None:
    """Return the live session that has an agent's conversation."""
    row = db.execute(
        f"select * from sessions where agent = ? and native_id = ? and {LIVE}",
        (agent, native_id),
    ).fetchone()
    return read_session(row) if row else None


def late(db: Connection, badge: Badge, sender: Sender) -> SessionId | None:
    """Return the session that is over and whose start arrives only now, from the spool."""
    row = db.execute(
        "select id from sessions where id = (select session from tokens where digest = ?)"
        " and agent = ? and ended_at is not null and coalesce(native_id, ?) = ?",
        (digest(badge), sender.agent, sender.native_id, sender.native_id),
    ).fetchone()
    return SessionId(row["id"]) if row else None
