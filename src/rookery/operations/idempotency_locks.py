"""Run commands under the same Idempotency-Key one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _KeyLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class KeyLocks:
    """Locks by key, kept only while a command holds one or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[str, _KeyLock] = {}

    @asynccontextmanager
    async def held(self, key: str) -> AsyncIterator[None]:
        """Hold the lock of a key for the block; with an empty key, hold none."""
        if not key:
            yield
            return
        lock = self._locks.setdefault(key, _KeyLock())
        lock.users += 1
        try:
            async with lock.lock:
                yield
        finally:
            lock.users -= 1
            if not lock.users:
                del self._locks[key]
