from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection, DatabaseError, OperationalError
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint

from rookery.model.errors import CommitFailed
from rookery.ports.clock import Clock
from rookery.store.database import Database, Work
from rookery.store.transaction_clock import TransactionClock
from tests.support.fakes.transaction_guard import TransactionGuard

T = TypeVar("T")

#: Turns of the loop after which whoever could go on without time passing has done so.
A_WHILE = 30


class ObservedDatabase(Database):
    """A database that knows whether anybody waits for it: if not, all that can happen has."""

    def __init__(
        self, path: Path, clock: Clock, *, connection: type[Connection] = Connection
    ) -> None:
        self._guard = TransactionGuard()
        super().__init__(path, clock, connection=self._guard.kind(connection))
        self.failing_writes = 0  #: so many writes fail, as on a full disk
        self.failing_reads = 0  #: the same of reads, as on a damaged one
        self._asked = 0
        self._answered = anyio.Event()

    async def __aexit__(self, *raised: object) -> None:
        await super().__aexit__(*raised)
        assert self._guard.reads == [], self._guard.reads[:3]

    def keep_time_by(self, clock: Clock) -> None:
        """Take the time of transactions from ``clock``, which nothing in them may ask."""
        self.clock = TransactionClock(clock)
        self._guard.clock = clock

    async def write(self, work: Work[T]) -> T:
        with self._counted():
            if self.failing_writes:
                self.failing_writes -= 1
                raise CommitFailed(OperationalError("database or disk is full"))
            return await super().write(work)

    async def read(self, work: Work[T]) -> T:
        with self._counted():
            self._fail_to_read()
            return await super().read(work)

    async def peek(self, work: Work[T]) -> T:
        self._fail_to_read()
        return await super().peek(work)

    def _fail_to_read(self) -> None:
        if self.failing_reads:
            self.failing_reads -= 1
            raise DatabaseError("database disk image is malformed")

    async def rest(self) -> None:
        """Wait until nothing more happens by itself: all wait for the clock or the world."""
        quiet = 0
        with anyio.fail_after(5):
            while quiet < A_WHILE:
                if self._asked:
                    await self._answered.wait()
                    quiet = 0
                else:
                    await checkpoint()
                    quiet += 1

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            self._answered.set()
            self._answered = anyio.Event()
