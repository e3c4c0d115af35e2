"""Explain to the user why the daemon ended."""

from __future__ import annotations

import sqlite3

from rookery.home import Home
from rookery.model.errors import CommitFailed, DiskFull, HomeUnusable, StoreBroken
from rookery.store.damage import is_damage

#: The errors that end the daemon, and that ``user_error`` explains.
FATAL = (OSError, StoreBroken, CommitFailed, sqlite3.Error, ExceptionGroup)


def user_error(error: Exception, home: Home) -> Exception:
    """Return an error that explains why the daemon ended."""
    while isinstance(error, ExceptionGroup):  # the other tasks ended because of the first error
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return HomeUnusable(f"{error.filename or home.state}: {error.strerror}")
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    if isinstance(cause, sqlite3.Error) and not isinstance(error, DiskFull):
        problem = (
            error.args[0] if isinstance(error, StoreBroken) else f"{home.database}: {cause}"
        )
        if is_damage(cause):
            advice = "Restore a backup:  rookery restore FILE"
            return StoreBroken(f"{problem}. {advice}", remedy="restore")
        return StoreBroken(problem)
    return error
