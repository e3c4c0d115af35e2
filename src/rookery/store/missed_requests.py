"""Store which requests timed out, until a person has seen that."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.permissions import Request, RequestId
from rookery.store import requests


def mark(db: Connection, request: RequestId) -> None:
    """Record that a request was not answered in time."""
    db.execute("update requests set missed = 1 where id = ?", (request,))


def listed(db: Connection) -> list[RequestId]:
    """Return the requests that timed out, and whose timeout a person has not seen."""
    rows = db.execute("select id from requests where missed order by asked_at")
    return [RequestId(row["id"]) for row in rows]


def of_session(db: Connection, session: SessionId) -> list[Request]:
    """Return the requests of a session that timed out, which a person has not seen."""
    rows = db.execute("select id from requests where missed and session = ?", (session,))
    return [requests.get(db, RequestId(row["id"])) for row in rows]


def see(db: Connection, missed: tuple[str, ...]) -> int:
    """Record that a person has seen these missed requests. Returns how many were missed."""
    done = (
        db.execute("update requests set missed = 0 where id = ? and missed", (each,))
        for each in missed
    )
    return sum(each.rowcount for each in done)
