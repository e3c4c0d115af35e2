"""Store which answers are still to reach their agents: through a hook, or by key presses."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.permissions import (
    Request,
    RequestId,
)
from rookery.store import grants
from rookery.store.requests import open_of, read_request


def is_asking(db: Connection, session: SessionId) -> bool:
    """Return whether a request is open, or its answer is still to be pressed."""
    return bool(open_of(db, session)) or next_press(db, session) is not None


def let_press(db: Connection, request: RequestId) -> None:
    """Mark an answer as due for key presses in the agent's dialog."""
    db.execute("update requests set keys = 'due' where id = ?", (request,))


def to_press(db: Connection) -> list[SessionId]:
    """Return the sessions that have an answer due for key presses in their dialogs."""
    rows = db.execute(
        "select distinct session from requests where keys = 'due' and (hook is null or handed)"
    )
    return [SessionId(row["session"]) for row in rows]


def next_press(db: Connection, session: SessionId) -> Request | None:
    row = db.execute(
        "select * from requests where session = ? and keys = 'due'"
        " and (hook is null or handed) order by asked_at limit 1",
        (session,),
    ).fetchone()
    return read_request(row) if row else None


def to_carry(db: Connection, session: SessionId) -> list[Request]:
    """Return the requests whose answer their hook has not received yet, oldest first."""
    rows = db.execute(
        "select * from requests where session = ? and keys = 'due'"
        " and hook is not null and not handed order by asked_at",
        (session,),
    )
    return [read_request(row) for row in rows]


def note_press(db: Connection, request: RequestId) -> None:
    db.execute("update requests set keys = 'pressed' where id = ?", (request,))


def reopen(db: Connection, request: RequestId, *, reason: str = "") -> None:
    """Undo an answer that could not be pressed: it never reached the agent."""
    db.execute(
        "update requests set outcome = 'open', keys = 'none', answered_by = '',"
        " answered_at = null, reason = ?, answers = '{}', for_session = 0, deadline = null,"
        " presses = 0, pressed_at = null where id = ? and keys = 'due'",
        (reason, request),
    )
    grants.withdraw(db, request)


def let_go(db: Connection, request: RequestId, *, reason: str) -> None:
    """Mark an answered request as gone: its answer did not reach the agent, or perhaps not."""
    db.execute(
        "update requests set outcome = 'gone', reason = ?, for_session = 0,"
        " keys = iif(presses > 0, 'pressed', 'none')"
        " where id = ? and keys = 'due'",
        (reason, request),
    )
    grants.withdraw(db, request)
