"""How far each transcript was read, and which are to be read: rows to model and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.store.times import read_stamp


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file was read, and what was counted of it."""

    path: str
    since: datetime  #: what was used until then does not count
    until: datetime | None = None  #: the latest that was counted
    offset: int = 0
    mark: str = ""  #: of what stands before the offset: if it changed, the file is another
    seen: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  #: counted, by response


def add(db: Connection, session: SessionId, path: str) -> None:
    """Know of a transcript. Of its own is what a session used since it was made."""
    db.execute(
        "insert into transcripts (session, path, since)"
        " select id, ?, created_at from sessions where id = ? on conflict do nothing",
        (path, session),
    )


def call_for(db: Connection, session: SessionId, entry: int) -> None:
    """Have the transcripts of a session read, because of an entry."""
    db.execute("update transcripts set due = ? where session = ?", (entry, session))


def settle(db: Connection, session: SessionId, entry: int) -> None:
    """Note that they were read, unless a later entry calls for it again."""
    db.execute(
        "update transcripts set due = null where session = ? and due <= ?", (session, entry)
    )


def due(db: Connection) -> list[SessionId]:
    """Name the sessions whose transcripts are to be read."""
    rows = db.execute("select distinct session from transcripts where due is not null")
    return [SessionId(row["session"]) for row in rows]


def due_since(db: Connection, session: SessionId) -> int | None:
    """Return the last entry that calls for a reading, if one does."""
    (entry,) = db.execute(
        "select max(due) from transcripts where session = ? and due is not null", (session,)
    ).fetchone()
    return int(entry) if entry else None


def of_session(db: Connection, session: SessionId) -> list[Progress]:
    rows = db.execute("select * from transcripts where session = ? order by path", (session,))
    return [_progress(row) for row in rows]


def keep(db: Connection, session: SessionId, progress: Progress) -> None:
    """Remember how far a file was read; also one that was not known before."""
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
