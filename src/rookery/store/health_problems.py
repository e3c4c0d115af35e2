"""Problems for ``rookery doctor``: parked entries and hooks, held or unsure messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION
from rookery.store.timestamps import read_stamp


@dataclass(frozen=True, slots=True)
class UnsureMessage:
    """A message that may not have arrived."""

    recipient: str  #: the session's name
    words: str  #: the beginning of the text
    written_at: datetime


def count_parked_entries(db: Connection) -> int:
    """Count the entries that a reader of the journal could not handle."""
    return _count(db, "select count(*) from parked")


def count_parked_hooks(db: Connection) -> int:
    """Count the hook calls that could not be parsed."""
    return _count(db, "select count(*) from hooks where error is not null")


def count_entries(db: Connection) -> int:
    """Return the approximate number of entries in the journal."""
    # Two queries: SQLite looks up one end of an index, but scans the table for both.
    newest, oldest = "select max(seq) from entries", "select min(seq) from entries"
    return _count(db, f"select coalesce(({newest}) - ({oldest}), 0)")


def held_since(db: Connection) -> datetime | None:
    """Return when deliveries were last held; none if that entry was deleted."""
    (since,) = db.execute(
        "select max(at) from entries where session = ? and kind = 'deliveries-held'",
        (NO_SESSION,),
    ).fetchone()
    return read_stamp(since)


def unsure_messages(db: Connection) -> list[UnsureMessage]:
    """Return the messages that may not have arrived."""
    rows = db.execute(
        "select name, substr(words, 1, 200) as words, written_at"
        " from messages indexed by messages_unproved"
        " join sessions on sessions.id = recipient where step = 'unsure'"
        # The exact condition of the partial index, without which SQLite cannot use it.
        " and step in ('sending', 'pasted', 'submitted', 'unsure') order by messages.id"
    )
    return [UnsureMessage(name, words, datetime.fromisoformat(at)) for name, words, at in rows]


def _count(db: Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])
