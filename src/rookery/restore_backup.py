"""Replace the database by a backup, without trusting the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from rookery.home import Home
from rookery.model.errors import BadInput, HomeUnusable, StoreBroken
from rookery.ports.clock import Clock
from rookery.sessions import record_end
from rookery.store import restored_rows
from rookery.store.connections import open_file
from rookery.store.journal import Journal


def restore(home: Home, file: Path, readers: Collection[str], clock: Clock) -> Path | None:
    """Replace the database by a backup. Returns where the old one is kept, if there was one.

    The home must be locked. Raises ``BadInput`` for a file that cannot be used, and
    ``HomeUnusable``; the old database is then unchanged.
    """
    new = home.database.with_suffix(".new")
    try:
        with _private_copy(home, file) as source:
            _remove(new)
            _rebuild(source, new, file)
        _disarm(new, readers, clock)
        aside = _keep(home.database, clock.now())
        for suffix in ("-wal", "-shm"):
            home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
        new.replace(home.database)
    except (OSError, sqlite3.Error) as error:
        raise HomeUnusable(f"{home.state}: {error}") from error
    finally:
        _remove(new)
    return aside


@contextmanager
def _private_copy(home: Home, file: Path) -> Iterator[Path]:
    """Copy a backup to a private file, which cannot change while it is read."""
    source = home.database.with_suffix(".source")
    wal, own_wal = (each.with_name(f"{each.name}-wal") for each in (file, source))
    try:
        _remove(source)
        _copy_checked(file, source)
        if wal.exists():  # the daemon of that file did not shut down cleanly
            _copy_checked(wal, own_wal)
        yield source
    finally:
        _remove(source)


def _copy_checked(file: Path, target: Path) -> None:
    """Copy a file that only this user or root can have written. Raises ``BadInput``."""
    try:
        # O_NONBLOCK: opening a named pipe would wait for a writer.
        source = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
    with os.fdopen(source, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{file} is not a file.")
        if status.st_uid not in {os.getuid(), 0}:
            raise BadInput(
                f"{file} belongs to another user, who may have put anything into it."
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise BadInput(f"{file} can be changed by others; type:  chmod go-w '{file}'")
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(opened, copy)


def _rebuild(source: Path, new: Path, file: Path) -> None:
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        restored_rows.rebuild(source, new)
    except (BadInput, StoreBroken) as refusal:
        raise BadInput(f"{file} cannot be restored: {refusal.args[0]}") from refusal
    except sqlite3.DatabaseError as error:
        is_strange = error.sqlite_errorcode == sqlite3.SQLITE_ERROR  # a column is missing
        if restored_rows.is_unreadable(error) or is_strange:
            raise BadInput(f"{file} is not a backup of Rookery: {error}") from error
        if isinstance(error, sqlite3.IntegrityError):
            raise BadInput(f"{file} is damaged: {error}") from error
        raise


def _disarm(new: Path, readers: Collection[str], clock: Clock) -> None:
    journal = Journal("", clock, readers={})
    with closing(open_file(new)) as db:
        db.execute("begin immediate")
        for session in restored_rows.disarm(db, readers, at=clock.now()):
            reason = restored_rows.REASON
            record_end.end(db, journal, session, outcome="failed", reason=reason)
        db.commit()


def _keep(database: Path, at: datetime) -> Path | None:
    """Copy the present database aside, even if it is damaged and unreadable."""
    if not database.exists():
        return None
    moment = at.astimezone().strftime("%Y%m%d-%H%M%S-%f")
    aside = database.with_suffix(f".before-restore-{moment}")
    os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(database)) as db, closing(sqlite3.connect(aside)) as copy:
            db.backup(copy)
    except sqlite3.DatabaseError as error:
        if not restored_rows.is_unreadable(error):
            raise
        shutil.copyfile(database, aside)
    return aside


def _remove(database: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
