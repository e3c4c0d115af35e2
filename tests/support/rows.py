"""Sessions to try things on."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from rookery.model.facts import SessionId, SessionStarted
from rookery.model.sessions import Session
from rookery.store import sessions
from rookery.store.journal import Journal

ANNA, BERT, WORKER = SessionId("anna"), SessionId("bert"), SessionId("worker")


def make(journal: Journal, session: str, **known: Any) -> Session:  # noqa: ANN401 - its fields
    """Make a session of which only what is said here matters."""
    now = journal.clock.now()
    times = {"since": now, "created_at": now, "last_activity_at": now}
    usual = {"name": session, "agent": "demo", "runtime": "tmux", "computer": journal.computer}
    return Session(id=SessionId(session), **{**times, **usual, **known})


def add_to_older(db: Connection, session: Session) -> None:
    """Add a session to a file of an earlier version, which has fewer columns."""
    columns = {row["name"] for row in db.execute("pragma table_info(sessions)")}
    row = {name: value for name, value in asdict(session).items() if name in columns}
    row |= {"tags": " ".join(session.tags)} if "tags" in columns else {}
    values = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
    marks = ", ".join(f":{name}" for name in values)
    query = f"insert into sessions ({', '.join(values)}, launch) values ({marks}, '{{}}')"  # noqa: S608 - columns of ours
    db.execute(query, values)


def settle_in(db: Connection, journal: Journal) -> None:
    """Have Anna, Bert and the worker run, all of them idle."""
    for session in (ANNA, BERT, WORKER):
        sessions.add(db, make(journal, session, title=f"{session}'s work"))
        journal.append(db, SessionStarted(session))
