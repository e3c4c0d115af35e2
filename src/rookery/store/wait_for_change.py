"""Wait for a condition on the store, with a timeout."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.ports.clock import Clock
from rookery.store.database import Database
from rookery.supervise import first_of


async def until(
    database: Database,
    question: Callable[[Connection], bool],
    *,
    seconds: float,
    clock: Clock,
    sessions: Collection[SessionId] = (),
) -> bool:
    """Wait until ``question`` returns true. False on timeout.

    It is checked at each new entry; with ``sessions``, only at entries about them.
    """

    async def ask() -> None:
        while True:
            # Get the bell before reading, so that no entry is missed before the wait.
            bell = database.bells.of_sessions(sessions) if sessions else database.bell()
            if await database.peek(question):
                return
            await bell.wait()

    return await within(seconds, ask, clock)


async def within(seconds: float, wait: Callable[[], Awaitable[object]], clock: Clock) -> bool:
    """Wait at most ``seconds`` of ``clock``. False on timeout."""

    async def finish() -> bool:
        await wait()
        return True

    async def expire() -> bool:
        await clock.sleep(max(seconds, 0.0))  # the rest of a deadline may be negative
        return False

    return await first_of(finish(), expire())
