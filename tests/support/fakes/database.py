from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection, DatabaseError, OperationalError
from typing import TypeVar

import anyio
from anyio.lowlevel import checkpoint

from rookery.model.errors import CommitFailed
from rookery.store.database import Database, Work

T = TypeVar("T")

#: Turns of the loop after which whoever could go on without time passing has done so.
A_WHILE = 30


class ObservedDatabase(Database):
    """A database that knows whether anybody waits for it: if not, all that can happen has."""

    def __init__(self, path: Path, *, connection: type[Connection] = Connection) -> None:
        super().__init__(path, connection=connection)
        self.failing_writes = 0  #: so many writes fail, as on a full disk
        self.failing_reads = 0  #: the same of reads, as on a damaged one
        self._asked = 0
        self._answered = anyio.Event()

    async def write(self, work: Work[T]) -> T:
        with self._counted():
            if self.failing_writes:
                self.failing_writes -= 1
                raise CommitFailed(OperationalError("database or disk is full"))
            return await super().write(work)

    async def read(self, work: Work[T]) -> T:
        with self._counted():
            if self.failing_reads:
                self.failing_reads -= 1
                raise DatabaseError("database disk image is malformed")
            return await super().read(work)

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
