"""The SQLite file, its one writer thread, and the bells for new entries."""

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
from sqlite3 import SQLITE_BUSY, SQLITE_FULL, Connection, DatabaseError, OperationalError
from threading import Thread
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import anyio

from rookery.model.errors import CommitFailed, DiskFull, RookeryError, StoreLocked, StoreLost
from rookery.ports.clock import Clock
from rookery.store.change_signals import Bells, NewRows, last_written, news_after
from rookery.store.connections import RepeatNeeded, open_file, open_for_writing, savepoint
from rookery.store.damage import with_advice
from rookery.store.replaced_files import Files
from rookery.store.transaction_clock import TransactionClock

_log = logging.getLogger(__name__)

T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], T]

#: Maximum number of jobs in one transaction; it limits how long the first waits for the last.
MAX_BATCH_JOBS = 256

#: Seconds to wait for more jobs after a batch: callers that were answered together often write
#: again together, and a flush takes longer. After ``ENOUGH`` jobs in a batch, do not wait.
LINGER, ENOUGH = 0.0003, 32


class _Job(NamedTuple):
    work: Work[Any]
    answer: asyncio.Future[Any]


class _Reply(NamedTuple):
    """The outcome of a job, for the caller that waits for it."""

    answer: asyncio.Future[Any]
    result: object = None
    error: BaseException | None = None

    def give(self) -> None:
        if self.answer.done():  # the caller was cancelled
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class Database:
    """The database, open for the duration of its ``async with`` block."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        batch: int = MAX_BATCH_JOBS,
        connection: type[Connection] = Connection,
    ) -> None:
        self.path = path
        self.clock = TransactionClock(clock)
        self._batch = batch
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.bells = Bells()
        self._db = open_for_writing(path, connection)
        self._last = last_written(self._db)
        self._files = Files(path)
        self._failure = ""  #: of the last commit; empty if it succeeded
        self._writer = Thread(target=self._run_writer, name="writer")
        # A separate connection: readers and the writer never wait for each other.
        self._view = open_file(path)
        self._reader = ThreadPoolExecutor(1, "reader")
        # And one for the event loop, which must not wait for a lock.
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
        """Return why nothing can be written; empty if there is no problem."""
        return self.lost or self._failure

    @property
    def lost(self) -> str:
        """Return why the content of the open files must be saved; empty if it need not."""
        return self._files.lost

    async def look_for_trouble(self, *, within: float) -> str:
        """Return why nothing can be written, after a test write if the last write failed."""
        if not self.lost and (self._failure or not os.access(self.path, os.W_OK)):
            with anyio.move_on_after(within), suppress(CommitFailed, StoreLost):
                await self.write(_touch)
        return self.trouble

    async def try_writing(self, *, within: float) -> str:
        """Return why nothing can be written, after a test write; empty if that succeeds.

        The writer does it: another writing connection could damage a file that was replaced.
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
        """Return how many jobs wait for the writer."""
        return self._jobs.qsize()

    def bell(self) -> asyncio.Event:
        """Return an event that is set once more entries have been committed."""
        return self.bells.of_any()

    async def write(self, work: Work[T]) -> T:
        """Run ``work`` atomically, after all earlier jobs; commit; return its result.

        Once queued it runs, even if the caller is cancelled. It may run twice if another job
        in its batch fails, so it must have no effects outside the database. It reads nothing
        outside the database either, because all jobs wait for it; ``clock`` has the time at
        which the batch began.
        """
        answer: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, answer))
        return await answer

    async def read(self, work: Work[T]) -> T:
        """Run ``work`` on a consistent snapshot of the database, in the reader thread."""
        return await self._loop.run_in_executor(self._reader, _run_reading, self._view, work)

    async def peek(self, work: Work[T]) -> T:
        """Run ``work``, which reads a few rows, on the event loop: a thread would cost more."""
        try:
            return _run_reading(self._glance, work)
        except OperationalError:  # another program has locked the file
            return await self.read(work)

    def _run_writer(self) -> None:
        is_open, before = True, 0
        while is_open:
            waiting = [self._jobs.get()]
            if 1 < before < ENOUGH:
                time.sleep(LINGER)  # noqa: TID251 - in the writer thread; see ``LINGER``
            with suppress(Empty):
                while len(waiting) < self._batch:
                    waiting.append(self._jobs.get_nowait())
            is_open, before = None not in waiting, len(waiting)
            if jobs := [job for job in waiting if job is not None]:
                self._commit(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        # All waiting jobs share one transaction: a full commit costs a flush of the disk,
        # and one flush serves a hundred jobs as well as one.
        try:
            self._files.require()
            self.clock.stop()
            replies = self._do_all(jobs) or self._do_each(jobs)
            news = news_after(self._db, self._last)
            self._db.commit()
            self._last = news.last
            self._note_success()
        except BaseException as failure:  # noqa: BLE001 - every waiting caller must get it
            with suppress(DatabaseError):
                self._db.rollback()
            why = self._note_failure(failure)
            news = NewRows((), (), self._last)
            replies = [_failed(job, why) for job in jobs]
        finally:
            self.clock.resume()
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self._loop.call_soon_threadsafe(self._send_replies, replies, news)

    def _note_failure(self, failure: BaseException) -> BaseException:
        """Store why nothing can be written, for ``trouble``; log a full disk once."""
        if not _has_code(failure, SQLITE_FULL):
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
        """Run all jobs in one transaction, and roll it back if one fails.

        Returns nothing in that case if jobs have still to be done, or again.
        """
        self._db.execute("begin immediate")
        try:
            return [_Reply(job.answer, job.work(self._db)) for job in jobs]
        except RepeatNeeded:
            self._db.rollback()
            return ()
        except Exception as error:
            # On some errors, such as a full disk, SQLite drops the whole transaction.
            if not self._db.in_transaction:
                raise
            self._db.rollback()
            return [_Reply(jobs[0].answer, error=error)] if len(jobs) == 1 else ()

    def _do_each(self, jobs: Sequence[_Job]) -> Sequence[_Reply]:
        """Run the jobs again, isolated from each other's failures. This is rarely needed."""
        self._db.execute("begin immediate")
        return [self._attempt(job) for job in jobs]

    def _attempt(self, job: _Job) -> _Reply:
        # One savepoint per job: a job that raises does not undo the rows of others.
        try:
            with savepoint(self._db):
                return _Reply(job.answer, job.work(self._db))
        except RepeatNeeded:
            return self._attempt(job)
        except Exception as error:
            # On some errors, such as a full disk, SQLite drops the whole transaction.
            if not self._db.in_transaction:
                raise
            return _Reply(job.answer, error=error)

    def _send_replies(self, replies: Sequence[_Reply], news: NewRows) -> None:
        for reply in replies:
            reply.give()
        # Once for the whole batch: a bell carries no data, and a woken task reads all entries.
        self.bells.ring(news)


def _failed(job: _Job, failure: BaseException) -> _Reply:
    # One error per job: an exception that is raised in two tasks mixes their tracebacks.
    error: RookeryError
    if isinstance(failure, StoreLost):
        error = StoreLost(*failure.args)
    elif isinstance(failure, DiskFull):
        error = DiskFull(*failure.args)
    elif _has_code(failure, SQLITE_BUSY):  # no transaction has begun
        error = StoreLocked(failure)
    else:
        error = CommitFailed(with_advice(failure))
    error.__cause__ = failure
    return _Reply(job.answer, error=error)


def _touch(db: Connection) -> None:
    """Write without changing anything."""
    (version,) = db.execute("pragma user_version").fetchone()
    db.execute(f"pragma user_version = {version}")


def _has_code(failure: BaseException, code: int) -> bool:
    return (
        isinstance(failure, DatabaseError)
        and getattr(failure, "sqlite_errorcode", None) == code
    )


def _run_reading(db: Connection, work: Work[T]) -> T:
    db.execute("begin")
    try:
        return work(db)
    finally:
        db.rollback()
