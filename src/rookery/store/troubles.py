"""What could not be taken in, is held back or may not have arrived; for the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION
from rookery.store.times import read_stamp


@dataclass(frozen=True, slots=True)
class UnsureMessage:
    """A message of which it is not known whether it arrived."""

    recipient: str  #: its name
    words: str  #: their beginning
    written_at: datetime


def count_parked_entries(db: Connection) -> int:
    """Count the entries that a reader of the journal could not handle."""
    return _count(db, "select count(*) from parked")


def count_parked_hooks(db: Connection) -> int:
    """Count the hook calls that could not be understood."""
    return _count(db, "select count(*) from hooks where error is not null")


def count_entries(db: Connection) -> int:
    """Return about how many entries the journal has."""
    # Two questions: SQLite looks up one end of an index, but scans the table for both.
    newest, oldest = "select max(seq) from entries", "select min(seq) from entries"
    return _count(db, f"select coalesce(({newest}) - ({oldest}), 0)")


def held_since(db: Connection) -> datetime | None:
    """Return when deliveries were last held; none if that is forgotten."""
    (since,) = db.execute(
        "select max(at) from entries where session = ? and kind = 'deliveries-held'",
        (NO_SESSION,),
    ).fetchone()
    return read_stamp(since)


def unsure_messages(db: Connection) -> list[UnsureMessage]:
    """Return the messages of which it is not known whether they arrived."""
    rows = db.execute(
        "select name, substr(words, 1, 200) as words, written_at"
        " from messages indexed by messages_unproved"
        " join sessions on sessions.id = recipient where step = 'unsure'"
        # Word for word as in the partial index, which else cannot be used.
        " and step in ('sending', 'pasted', 'submitted', 'unsure') order by messages.id"
    )
    return [UnsureMessage(name, words, datetime.fromisoformat(at)) for name, words, at in rows]


def _count(db: Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])
