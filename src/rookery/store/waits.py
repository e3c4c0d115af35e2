"""Waiting for what the store will say: on the bell, within a time."""

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
    """Wait until the answer is yes. False if it was not in time.

    It is asked again at each new entry; with ``sessions`` only at those about them.
    """

    async def ask() -> None:
        while True:
            # Taken before the reading, so that nothing falls between it and the wait.
            bell = database.bells.of_sessions(sessions) if sessions else database.bell()
            if await database.peek(question):
                return
            await bell.wait()

    return await within(seconds, ask, clock)


async def within(seconds: float, wait: Callable[[], Awaitable[object]], clock: Clock) -> bool:
    """Wait, but not longer than ``seconds`` of ``clock``. False if that was too short."""

    async def finish() -> bool:
        await wait()
        return True

    async def expire() -> bool:
        await clock.sleep(max(seconds, 0.0))  # what is left of a deadline may be less
        return False

    return await first_of(finish(), expire())
