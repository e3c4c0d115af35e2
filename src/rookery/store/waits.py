"""Waiting for what the store will say: on the bell, within a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from sqlite3 import Connection

import anyio

from rookery.model.facts import SessionId
from rookery.ports import Clock
from rookery.store.database import Database


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
    failure: Exception | None = None
    in_time = False
    async with anyio.create_task_group() as race:

        async def expire() -> None:
            await clock.sleep(max(seconds, 0.0))  # what is left of a deadline may be less
            race.cancel_scope.cancel()

        race.start_soon(expire)
        try:
            await wait()
            in_time = True
        except Exception as error:  # noqa: BLE001 - raised below, not in a group with others
            failure = error
        race.cancel_scope.cancel()
    if failure:
        raise failure
    return in_time
