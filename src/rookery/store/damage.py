"""Recognise errors of a damaged database file, and say what to do about them."""

from __future__ import annotations

import sqlite3

from rookery.model.errors import StoreBroken

#: SQLite errors of a file that neither waiting nor free disk space can repair.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

#: What to do while a daemon uses the file.
ADVICE_WHILE_RUNNING = "Restore a backup:  rookery down  then:  rookery restore FILE"


def is_damage(error: BaseException | None) -> bool:
    """Return whether an error means that the database file is damaged."""
    if isinstance(error, sqlite3.DatabaseError):
        # Some of Python's own errors have no code.
        return getattr(error, "sqlite_errorcode", None) in DAMAGED
    return isinstance(error, UnicodeDecodeError)


def with_advice(error: BaseException) -> str:
    """Return an error's text for users of the running daemon."""
    return f"{error}. {ADVICE_WHILE_RUNNING}" if is_damage(error) else str(error)


def as_store_broken(error: BaseException) -> StoreBroken:
    """Return the error that a request gets whose read or write failed."""
    return StoreBroken(with_advice(error))
