"""Deduplicate hook calls by their key."""

from __future__ import annotations

from datetime import datetime, timedelta
from sqlite3 import Connection

from rookery.store import counters
from rookery.store.timestamps import stamp

#: Characters of a parked call's key and error that are stored.
MAX_KEY_CHARACTERS, MAX_ERROR_CHARACTERS = 100, 1_000


def add(db: Connection, key: str, *, at: datetime) -> bool:
    """Record a call. False if it was recorded before."""
    added = db.execute(
        "insert into hooks (key, at) values (?, ?) on conflict do nothing", (key, stamp(at))
    )
    if added.rowcount:
        counters.add(db, "hook_calls", "recorded")
    return added.rowcount == 1


def note_ended(db: Connection, key: str, *, of: str, at: datetime) -> None:
    """Record under a key of its own that a call has ended, unless the call was recorded."""
    db.execute(
        "insert into hooks (key, at) select ?, ? where not exists"
        " (select 1 from hooks where key = ?) on conflict do nothing",
        (key, stamp(at), of),
    )


def is_recorded(db: Connection, key: str) -> bool:
    return db.execute("select 1 from hooks where key = ?", (key,)).fetchone() is not None


def park(db: Connection, key: str, error: str, *, at: datetime) -> None:
    """Record a call that could not be parsed, unless its key was recorded before."""
    added = db.execute(
        "insert into hooks (key, at, error) values (?, ?, ?) on conflict do nothing",
        (key[:MAX_KEY_CHARACTERS], stamp(at), error[:MAX_ERROR_CHARACTERS]),
    )
    if added.rowcount:
        counters.add(db, "hook_calls", "failed")


def is_echo(db: Connection, key: str, digest: str, *, at: datetime, within: timedelta) -> bool:
    """Record a call's digest. True if another call had the same one at about that time."""
    moments = ((at - within).isoformat(), (at + within).isoformat())
    same = db.execute(
        "select 1 from hooks where digest = ? and at between ? and ?", (digest, *moments)
    ).fetchone()
    db.execute("update hooks set digest = ? where key = ?", (digest, key))
    return same is not None
