from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
from anyio.lowlevel import checkpoint


class FakeClock:
    """A clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 1, tzinfo=UTC)
        self._sleepers: dict[anyio.Event, datetime] = {}
        self._asleep = anyio.Event()

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await checkpoint()
            return
        wake_up = anyio.Event()
        self._sleepers[wake_up] = self._now + timedelta(seconds=seconds)
        self._asleep.set()
        try:
            await wake_up.wait()
        finally:
            self._sleepers.pop(wake_up, None)

    async def someone_sleeps(self) -> None:
        while not self._sleepers:
            self._asleep = anyio.Event()
            await self._asleep.wait()

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        for wake_up in [each for each, due in self._sleepers.items() if due <= self._now]:
            del self._sleepers[wake_up]
            wake_up.set()

    def skip(self) -> None:
        """Go on to the moment that the next sleeper waits for."""
        if self._sleepers:
            self.advance((min(self._sleepers.values()) - self._now).total_seconds())
