"""Store how far each transcript was read, and which have to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.store.timestamps import read_stamp


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file was read, and what was counted in it."""

    path: str
    since: datetime  #: usage before this does not count
    until: datetime | None = None  #: the latest usage that was counted
    offset: int = 0
    mark: str = ""  #: digest of the text before the offset: a change means another file
    seen: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  #: counted, by response


def add(db: Connection, session: SessionId, path: str) -> None:
    """Register a transcript. Only usage since the session's creation counts as its own."""
    db.execute(
        "insert into transcripts (session, path, since)"
        " select id, ?, created_at from sessions where id = ? on conflict do nothing",
        (path, session),
    )


def call_for(db: Connection, session: SessionId, entry: int) -> None:
    """Request that the transcripts of a session are read, because of an entry."""
    db.execute("update transcripts set due = ? where session = ?", (entry, session))


def settle(db: Connection, session: SessionId, entry: int) -> None:
    """Record that they were read, unless a later entry has requested it again."""
    db.execute(
        "update transcripts set due = null where session = ? and due <= ?", (session, entry)
    )


def due(db: Connection) -> list[SessionId]:
    """Return the sessions whose transcripts have to be read."""
    rows = db.execute("select distinct session from transcripts where due is not null")
    return [SessionId(row["session"]) for row in rows]


def due_since(db: Connection, session: SessionId) -> int | None:
    """Return the last entry that requests a reading, if any."""
    (entry,) = db.execute(
        "select max(due) from transcripts where session = ? and due is not null", (session,)
    ).fetchone()
    return int(entry) if entry else None


def of_session(db: Connection, session: SessionId) -> list[Progress]:
    rows = db.execute("select * from transcripts where session = ? order by path", (session,))
    return [_progress(row) for row in rows]


def keep(db: Connection, session: SessionId, progress: Progress) -> None:
    """Store how far a file was read; registers the file if it is new."""
    row = {
        "session": session,
        "path": progress.path,
        "offset": progress.offset,
        "mark": progress.mark,
        "since": progress.since.isoformat(),
        "until": progress.until.isoformat() if progress.until else "",
        "seen": json.dumps(dict(progress.seen)),
    }
    db.execute(
        "insert into transcripts (session, path, offset, mark, since, until, seen)"
        " values (:session, :path, :offset, :mark, :since, :until, :seen)"
        " on conflict do update set offset = :offset, mark = :mark, since = :since,"
        " until = :until, seen = :seen",
        row,
    )


def _progress(row: Row) -> Progress:
    return Progress(
        path=row["path"],
        since=datetime.fromisoformat(row["since"]),
        until=read_stamp(row["until"]),
        offset=row["offset"],
        mark=row["mark"],
        seen={each: tuple(counted) for each, counted in json.loads(row["seen"]).items()},
    )
