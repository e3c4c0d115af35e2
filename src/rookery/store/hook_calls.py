"""The hook calls that were taken in, by their key: each counts once."""

from __future__ import annotations

from datetime import datetime, timedelta
from sqlite3 import Connection

from rookery.store.times import stamp

#: Characters that are kept of a parked call's key and of its error.
MAX_KEY_CHARACTERS, MAX_ERROR_CHARACTERS = 100, 1_000


def add(db: Connection, key: str, *, at: datetime) -> bool:
    """Note a call. False if it was taken in before."""
    added = db.execute(
        "insert into hooks (key, at) values (?, ?) on conflict do nothing", (key, stamp(at))
    )
    return added.rowcount == 1


def park(db: Connection, key: str, error: str, *, at: datetime) -> None:
    """Note a call that could not be understood, unless one with its key was taken in."""
    db.execute(
        "insert into hooks (key, at, error) values (?, ?, ?) on conflict do nothing",
        (key[:MAX_KEY_CHARACTERS], stamp(at), error[:MAX_ERROR_CHARACTERS]),
    )


def is_echo(db: Connection, key: str, digest: str, *, at: datetime, within: timedelta) -> bool:
    """Note what a call says. True if another call said the same at about that time."""
    moments = ((at - within).isoformat(), (at + within).isoformat())
    same = db.execute(
        "select 1 from hooks where digest = ? and at between ? and ?", (digest, *moments)
    ).fetchone()
    db.execute("update hooks set digest = ? where key = ?", (digest, key))
    return same is not None
