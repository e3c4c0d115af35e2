"""Commands that may be asked for again: done once, answered as often as asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from rookery.model.errors import KeyReused


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two requests the same command."""

    word: str  #: the client's Idempotency-Key
    operation: str
    digest: str  #: of what was asked


def answered(db: Connection, key: Key) -> str | None:
    """Return what was answered before. Raises ``KeyReused`` if something else was asked."""
    row = db.execute("select * from commands where key = ?", (key.word,)).fetchone()
    if row is None:
        return None
    if (row["operation"], row["digest"]) != (key.operation, key.digest):
        raise KeyReused(key.word)
    return str(row["answer"])


def once(db: Connection, key: Key | None, do: Callable[[Connection], str], at: datetime) -> str:
    """Do what was asked, and remember the answer in the same transaction."""
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
