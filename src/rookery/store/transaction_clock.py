"""A clock that is stopped during a transaction of the writer."""

from __future__ import annotations

import threading
from datetime import datetime

from rookery.ports.clock import Clock


class TransactionClock:
    """Returns the start of the transaction on the writer thread, and the time on others.

    So all rows of a transaction have the same time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: datetime | None = None
        self._writer: int | None = None  #: the thread in which a transaction is open

    def now(self) -> datetime:
        if self._began is not None and threading.get_ident() == self._writer:
            return self._began
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def stop(self) -> None:
        """Stop the clock for the calling thread until ``resume``."""
        self._began, self._writer = self._clock.now(), threading.get_ident()

    def resume(self) -> None:
        self._began = None
