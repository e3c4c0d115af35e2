"""Store the last report of each source about a session."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.beliefs import KnownSession
from rookery.model.evidence import SOURCES, Evidence, Source
from rookery.model.facts import SessionId
from rookery.model.sessions import Session
from rookery.ports.agent import Agent
from rookery.store.timestamps import stamp

#: Characters stored of the detail of a claim.
MAX_DETAIL_CHARACTERS = 500


def put(db: Connection, session: SessionId, evidence: Evidence) -> None:
    db.execute(
        "insert into evidence (session, source, claim, detail, at) values (?, ?, ?, ?, ?)"
        " on conflict do update set claim = excluded.claim, detail = excluded.detail,"
        " at = excluded.at",
        (
            session,
            evidence.source,
            evidence.claim,
            evidence.detail[:MAX_DETAIL_CHARACTERS],
            evidence.at.isoformat(),
        ),
    )


def note_state(
    db: Connection, session: SessionId, source: Source, *, at: datetime, detail: str
) -> None:
    """Record that a source has just led to the session's current state."""
    row = (session, source, detail[:MAX_DETAIL_CHARACTERS], stamp(at))
    # The row nearly always exists, and then this is twice as fast as an upsert.
    updated = db.execute(
        "update evidence set detail = ?3, at = ?4,"
        " claim = (select coalesce(activity, status) from sessions where id = ?1)"
        " where session = ?1 and source = ?2",
        row,
    )
    if not updated.rowcount:
        db.execute(
            "insert into evidence (session, source, claim, detail, at)"
            " select id, ?2, coalesce(activity, status), ?3, ?4 from sessions where id = ?1",
            row,
        )


def of_session(db: Connection, session: SessionId) -> list[Evidence]:
    """Return the evidence about a session, the strongest source first."""
    rows = db.execute("select * from evidence where session = ?", (session,))
    found = [
        Evidence(row["source"], row["claim"], datetime.fromisoformat(row["at"]), row["detail"])
        for row in rows
    ]
    return sorted(found, key=lambda each: SOURCES.index(each.source))


def known(db: Connection, session: Session, agent: Agent | None = None) -> KnownSession:
    """Return a session with its evidence; ``agent`` is needed to ask if hooks report turns."""
    said = {each.source: each for each in of_session(db, session.id)}
    return KnownSession(session, said, sets_hooks=agent is not None and agent.sets_hooks)
