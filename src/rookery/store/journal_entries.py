"""Read the entries of the journal, for clients that follow it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from sqlite3 import Connection, Row

#: An entry's number, time, session, kind and body.
RawEntry = tuple[int, str, str, str, str]


def page(db: Connection, *, after: int, limit: int) -> list[Row]:
    """Return the entries after a number."""
    return db.execute(
        "select * from entries where seq > ? order by seq limit ?", (after, limit)
    ).fetchall()


def between(db: Connection, *, after: int, last: int, limit: int) -> Iterator[RawEntry]:
    """Yield the entries after one number, up to and including another."""
    with closing(db.cursor()) as found:
        found.row_factory = None  # tuples take half the time of rows
        found.execute(
            "select seq, at, session, kind, body from entries where seq > ? and seq <= ?"
            " order by seq limit ?",
            (after, last, limit),
        )
        yield from found


def first_number(db: Connection) -> int:
    """Return the number of the oldest entry; if there is none, of the next one."""
    (first,) = db.execute("select min(seq) from entries").fetchone()
    return last_number(db) + 1 if first is None else int(first)


def last_number(db: Connection) -> int:
    """Return the number of the last entry that was written, even if it is deleted."""
    row = db.execute("select seq from sqlite_sequence where name = 'entries'").fetchone()
    return int(row["seq"]) if row else 0
