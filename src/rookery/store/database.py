"""One file, one thread that writes it, and a bell for what was written."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from sqlite3 import SQLITE_FULL, Connection, DatabaseError, OperationalError, Row, connect
from threading import Thread
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import anyio

from rookery.model.errors import CommitFailed, DiskFull, RookeryError, StoreBroken, StoreLost
from rookery.store.bells import Bells, NewEntry, entries_after
from rookery.store.files import Files
from rookery.store.migrations import migrate

_log = logging.getLogger(__name__)

T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], T]

#: Most works in one transaction; a bound on how long the first waits for the last.
BATCH = 256

#: Seconds to let those who were answered together ask together again: a flush takes longer.
#: So many works are worth one of their own.
LINGER, ENOUGH = 0.0003, 32

#: Seconds to wait for another program that holds the file, such as a backup.
PATIENCE = 5.0

#: Pages that may wait beside the file: whoever fills them up waits until all are copied into
#: it, and most are written again before that. SQLite's own 1,000 cost a fifth of the speed.
LOG_PAGES = 8_000


class _Job(NamedTuple):
    work: Work[Any]
    answer: asyncio.Future[Any]


class _Reply(NamedTuple):
    """What became of a job, for whoever waits for it."""

    answer: asyncio.Future[Any]
    result: object = None
    error: BaseException | None = None

    def give(self) -> None:
        if self.answer.done():  # its caller has left
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class Database:
    """Open for as long as its ``async with`` block lasts."""

    def __init__(
        self, path: Path, *, batch: int = BATCH, connection: type[Connection] = Connection
    ) -> None:
        self.path = path
        self._batch = batch
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.bells = Bells()
        self._db = _prepare(path, connection)
        self._last = last_entry(self._db)
        self._files = Files(path)
        self._failure = ""  #: of the last commit
        self._writer = Thread(target=self._write_on, name="writer")
        # A connection of its own: who reads never waits for the writer, nor it for them.
        self._view = open_file(path)
        self._reader = ThreadPoolExecutor(1, "reader")
        # And one for the loop itself, which must not wait for a lock.
        self._glance = open_file(path, timeout=0)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._writer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._jobs.put(None)
        self._writer.join()
        self._reader.shutdown()
        self._db.close()
        self._view.close()
        self._glance.close()

    @property
    def trouble(self) -> str:
        """Why nothing is taken in; empty while all is well."""
        return self.lost or self._failure

    @property
    def lost(self) -> str:
        """Why what is in the files that are open must be saved; empty while all is well."""
        return self._files.lost

    async def look_for_trouble(self, *, within: float) -> str:
        """Return why nothing is taken in, after a small write where the last one failed."""
        if not self.lost and (self._failure or not os.access(self.path, os.W_OK)):
            with anyio.move_on_after(within), suppress(CommitFailed, StoreLost):
                await self.write(_touch)
        return self.trouble

    async def try_writing(self, *, within: float) -> str:
        """Return why nothing can be written now, after a small write; empty if that succeeds.

        By the writer: another connection that may write could harm a file that was replaced.
        """
        if self.lost:
            return self.lost
        with anyio.move_on_after(within) as scope, suppress(CommitFailed, StoreLost):
            await self.write(_touch)
        if scope.cancelled_caught:
            return (
                f"Nothing could be written to {self.path} within {within:g} s. Another program"
                f" may have locked it; find it with:  fuser '{self.path}'"
            )
        return self.trouble

    @property
    def waiting(self) -> int:
        """How many works wait for the writer."""
        return self._jobs.qsize()

    def bell(self) -> asyncio.Event:
        """Return an event that is set once more entries have been committed."""
        return self.bells.of_any()

    async def write(self, work: Work[T]) -> T:
        """Do all of ``work`` or nothing of it, after what was asked for before; commit; answer.

        Once asked for it is done, also when the caller does not wait for the answer. It may be
        begun twice, if a neighbour fails: it must touch nothing but the file.
        """
        answer: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, answer))
        return await answer

    async def read(self, work: Work[T]) -> T:
        """Let ``work`` look at one moment of the file."""
        return await self._loop.run_in_executor(self._reader, _look, self._view, work)

    async def peek(self, work: Work[T]) -> T:
        """Let ``work`` look at a few rows, here and now: a thread would cost more than that."""
        try:
            return _look(self._glance, work)
        except OperationalError:  # another program has locked the file
            return await self.read(work)

    def _write_on(self) -> None:
        is_open, before = True, 0
        while is_open:
            waiting = [self._jobs.get()]
            if 1 < before < ENOUGH:
                time.sleep(LINGER)  # noqa: TID251 - a thread of its own; see there
            with suppress(Empty):
                while len(waiting) < self._batch:
                    waiting.append(self._jobs.get_nowait())
            is_open, before = None not in waiting, len(waiting)
            if jobs := [job for job in waiting if job is not None]:
                self._commit(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        # All who wait share one transaction: a full commit costs a flush of the disk,
        # and one flush serves a hundred works as well as one.
        try:
            self._files.require()
            replies = self._do_all(jobs) or self._do_each(jobs)
            news = entries_after(self._db, self._last)
            self._db.commit()
            self._last = news[-1].seq if news else self._last
            self._note_success()
        except BaseException as failure:  # noqa: BLE001 - everyone who waits must hear of it
            with suppress(DatabaseError):
                self._db.rollback()
            why = self._note_failure(failure)
            news, replies = [], [_failed(job, why) for job in jobs]
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._hand_out, replies, news)

    def _note_failure(self, failure: BaseException) -> BaseException:
        """Remember why nothing can be written, for ``trouble``; log a full disk once."""
        if not _is_full(failure):
            self._failure = f"Nothing can be written to {self.path} now: {failure}"
            return failure
        full = DiskFull(f"{self.path}")
        full.__cause__ = failure
        if self._failure != str(full):
            _log.error("%s", full)
        self._failure = str(full)
        return full

    def _note_success(self) -> None:
        if self._failure:
            _log.info("The database can be written again.")
            self._failure = ""

    def _do_all(self, jobs: Sequence[_Job]) -> Sequence[_Reply]:
        """Do the works as if none could fail. Nothing is done if one does.

        Nothing is returned then, either, as the neighbours of the one have still to be done.
        """
        self._db.execute("begin immediate")
        try:
            return [_Reply(job.answer, job.work(self._db)) for job in jobs]
        except Exception as error:
            # Of a full disk, for instance, SQLite has dropped the whole transaction.
            if not self._db.in_transaction:
                raise
            self._db.rollback()
            return [_Reply(jobs[0].answer, error=error)] if len(jobs) == 1 else ()

    def _do_each(self, jobs: Sequence[_Job]) -> Sequence[_Reply]:
        """Do the works again, each so that its failure is its own. It seldom comes to this."""
        self._db.execute("begin immediate")
        return [self._attempt(job) for job in jobs]

    def _attempt(self, job: _Job) -> _Reply:
        # A savepoint each: one that raises leaves its neighbours' rows alone.
        try:
            with savepoint(self._db):
                return _Reply(job.answer, job.work(self._db))
        except Exception as error:
            # Of a full disk, for instance, SQLite has dropped the whole transaction.
            if not self._db.in_transaction:
                raise
            return _Reply(job.answer, error=error)

    def _hand_out(self, replies: Sequence[_Reply], news: Sequence[NewEntry]) -> None:
        for reply in replies:
            reply.give()
        # Once for the whole batch: a bell only wakes, and who wakes reads all there is.
        self.bells.ring(news)


def _failed(job: _Job, failure: BaseException) -> _Reply:
    # One error for each: raised in two tasks, an exception would mix their tracebacks.
    error: RookeryError
    if isinstance(failure, StoreLost):
        error = StoreLost(*failure.args)
    elif isinstance(failure, DiskFull):
        error = DiskFull(*failure.args)
    else:
        error = CommitFailed(failure)
    error.__cause__ = failure
    return _Reply(job.answer, error=error)


def _touch(db: Connection) -> None:
    """Write something that changes nothing."""
    (version,) = db.execute("pragma user_version").fetchone()
    db.execute(f"pragma user_version = {version}")


def _is_full(failure: BaseException) -> bool:
    code = getattr(failure, "sqlite_errorcode", None)
    return isinstance(failure, DatabaseError) and code == SQLITE_FULL


class savepoint:  # noqa: N801 - used as a function; a generator takes three times as long
    """All of the block or nothing of it, within the transaction that is open."""

    __slots__ = ("_db",)

    def __init__(self, db: Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("savepoint attempt")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Of a full disk, for instance, SQLite has dropped the whole transaction.
        if kind is not None and self._db.in_transaction:
            self._db.execute("rollback to attempt")
        if kind is None or self._db.in_transaction:
            self._db.execute("release attempt")


def _look(db: Connection, work: Work[T]) -> T:
    db.execute("begin")
    try:
        return work(db)
    finally:
        db.rollback()


def open_file(
    path: Path | str,
    connection: type[Connection] = Connection,
    *,
    timeout: float = PATIENCE,
) -> Connection:
    db = connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        factory=connection,
        timeout=timeout,
    )
    db.row_factory = Row
    db.execute("pragma foreign_keys = on")
    return db


def last_entry(db: Connection) -> int:
    (seq,) = db.execute("select coalesce(max(seq), 0) from entries").fetchone()
    return int(seq)


def _prepare(path: Path, connection: type[Connection]) -> Connection:
    """Open the file for the writer, as safe as it gets, and bring its tables up to date."""
    try:
        # Before SQLite does: what agents said is for their owner's eyes.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        db = open_file(path, connection)
    except (DatabaseError, OSError) as error:
        raise StoreBroken(f"{path}: {error}") from error
    try:
        db.execute("pragma journal_mode = wal")
        # Normal loses acknowledged rows in a power cut; shared commits make full cheap.
        db.execute("pragma synchronous = full")
        db.execute(f"pragma wal_autocheckpoint = {LOG_PAGES}")
        # While another program reads, the log grows; without a limit it stays that large.
        (page,) = db.execute("pragma page_size").fetchone()
        db.execute(f"pragma journal_size_limit = {LOG_PAGES * page}")
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
