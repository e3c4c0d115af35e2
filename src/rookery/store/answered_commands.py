"""Idempotent commands: executed once, answered the same on each retry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.model.errors import KeyReused


@dataclass(frozen=True, slots=True)
class Key:
    """The identity of a command: two requests with equal keys are the same command."""

    word: str  #: the client's Idempotency-Key
    operation: str
    digest: str  #: of the request's content


#: The answer of a command that was begun, and may have completed before the daemon died.
_NOT_KNOWN = ""


def answered(db: Connection, key: Key) -> str | None:
    """Return the earlier answer. Raises ``KeyReused`` if the key is of another command.

    None also if the command was begun, and it is unknown whether it completed.
    """
    row = db.execute("select * from commands where key = ?", (key.word,)).fetchone()
    if row is None:
        return None
    if (row["operation"], row["digest"]) != (key.operation, key.digest):
        raise KeyReused(key.word)
    return str(row["answer"]) or None


def begin(db: Connection, key: Key, at: datetime) -> datetime | None:
    """Record that a command is about to act outside the database.

    Returns the time when the same command was begun before, if it was. Raises ``KeyReused``.
    """
    answered(db, key)
    added = db.execute(
        "insert into commands values (?, ?, ?, ?, ?) on conflict do nothing",
        (key.word, key.operation, key.digest, _NOT_KNOWN, at.isoformat()),
    )
    if added.rowcount:
        return None
    row = db.execute("select at from commands where key = ?", (key.word,)).fetchone()
    return datetime.fromisoformat(row["at"])


def finish(db: Connection, key: Key, answer: str) -> None:
    """Record the answer of a command that was begun."""
    db.execute("update commands set answer = ? where key = ?", (answer, key.word))


def once(db: Connection, key: Key | None, do: Callable[[Connection], str], at: datetime) -> str:
    """Execute a command, unless it was before, and store its answer in the same transaction."""
    if key is None:
        return do(db)
    if (before := answered(db, key)) is not None:
        return before
    answer = do(db)
    db.execute(
        "insert into commands values (?, ?, ?, ?, ?)",
        (key.word, key.operation, key.digest, answer, at.isoformat()),
    )
    return answer
