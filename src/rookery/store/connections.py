"""Open connections to the SQLite file; make blocks atomic within a transaction."""

from __future__ import annotations

import os
from pathlib import Path
from sqlite3 import Connection, DatabaseError, Row, connect, register_adapter
from types import NoneType

from rookery.model.blocks import BlockKind
from rookery.model.errors import StoreBroken
from rookery.model.lifecycle import Activity, Status
from rookery.model.messages import MessageKind, Step, Urgency
from rookery.store.migrations import migrate

#: Seconds to wait for another program that has locked the file, such as a backup.
LOCK_TIMEOUT_SECONDS = 5.0


#: Statements that a connection keeps prepared; with Python's default of 128, rare statements
#: would displace frequent ones.
CACHED_STATEMENTS = 512


#: Pages in the write-ahead log before a checkpoint, for which a commit has to wait. Most pages
#: are overwritten before that. SQLite's default of 1,000 costs a fifth of the speed.
CHECKPOINT_PAGES = 8_000


# Without an adapter, Python searches each value of these types for a method that converts it,
# which takes longer than storing the value.
register_adapter(NoneType, lambda none: none)
register_adapter(bool, int)
for _kind in (Activity, Status, BlockKind, MessageKind, Step, Urgency):
    register_adapter(_kind, str.__str__)


class RepeatNeeded(BaseException):
    """Raised in a transaction whose work must run again, after it was rolled back.

    It is no ``Exception``, so that the writer alone handles it.
    """


class savepoint:  # noqa: N801 - used as a function; a generator takes three times as long
    """Make a block atomic within the open transaction."""

    __slots__ = ("_db",)

    def __init__(self, db: Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("savepoint attempt")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # On some errors, such as a full disk, SQLite drops the whole transaction.
        if kind is not None and self._db.in_transaction:
            self._db.execute("rollback to attempt")
        if kind is None or self._db.in_transaction:
            self._db.execute("release attempt")


def open_file(
    path: Path | str,
    connection: type[Connection] = Connection,
    *,
    timeout: float = LOCK_TIMEOUT_SECONDS,
) -> Connection:
    db = connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        factory=connection,
        timeout=timeout,
        cached_statements=CACHED_STATEMENTS,
    )
    db.row_factory = Row
    db.execute("pragma foreign_keys = on")
    return db


def open_for_writing(path: Path, connection: type[Connection]) -> Connection:
    """Open the file for the writer, with the safest settings, and migrate its schema."""
    try:
        # Create it before SQLite does, readable by its owner only: it has agents' output.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        db = open_file(path, connection)
    except (DatabaseError, OSError) as error:
        raise StoreBroken(f"{path}: {error}") from error
    try:
        db.execute("pragma journal_mode = wal")
        # "normal" loses acknowledged rows in a power cut; shared commits make "full" cheap.
        db.execute("pragma synchronous = full")
        db.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        # The log grows while another program reads; without a limit it stays that large.
        (page,) = db.execute("pragma page_size").fetchone()
        db.execute(f"pragma journal_size_limit = {CHECKPOINT_PAGES * page}")
        migrate(db, path)
    except BaseException as error:
        db.close()
        if isinstance(error, DatabaseError | OSError):
            raise StoreBroken(f"{path}: {error}") from error
        if isinstance(error, UnicodeDecodeError):
            # SQLite's message quotes the damaged schema.
            raise StoreBroken(f"{path}: its schema is damaged") from error
        raise
    return db
