from __future__ import annotations

from sqlite3 import Connection

import anyio
import pytest

from rookery.model.errors import SessionUnknown
from rookery.model.facts import TurnStarted
from rookery.store import sessions, wait_for_change
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import WORKER, settle_in

pytestmark = pytest.mark.anyio


def is_working(db: Connection) -> bool:
    return sessions.get(db, WORKER).activity == "working"


@pytest.fixture(autouse=True)
async def _settled(database: ObservedDatabase, journal: Journal) -> None:
    await database.write(lambda db: settle_in(db, journal))


class Waiter:
    """Somebody who waits for the worker, and what came of it."""

    def __init__(self, database: ObservedDatabase, clock: FakeClock) -> None:
        self.answer: bool | None = None
        self._database = database
        self._clock = clock

    async def wait(self) -> None:
        self.answer = await wait_for_change.until(
            self._database, is_working, seconds=10, clock=self._clock
        )


async def test_who_waits_is_woken_by_what_was_committed(
    database: ObservedDatabase, journal: Journal, clock: FakeClock
) -> None:
    waiter = Waiter(database, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiter.wait)
        await database.rest()
        before = waiter.answer

        await database.write(lambda db: journal.append(db, TurnStarted(WORKER, "go")))
        await database.rest()

    assert (before, waiter.answer) == (None, True)


async def test_who_waits_in_vain_is_told_in_time(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    waiter = Waiter(database, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiter.wait)
        await database.rest()
        clock.advance(9)
        await database.rest()
        before = waiter.answer

        clock.advance(1)
        await database.rest()

    assert (before, waiter.answer) == (None, False)


async def test_what_is_so_already_needs_no_wait(
    database: ObservedDatabase, journal: Journal, clock: FakeClock
) -> None:
    await database.write(lambda db: journal.append(db, TurnStarted(WORKER, "go")))

    with anyio.fail_after(5):
        assert await wait_for_change.until(database, is_working, seconds=10, clock=clock)


@pytest.mark.spec("K4")
async def test_an_error_comes_as_it_is(database: ObservedDatabase, clock: FakeClock) -> None:
    def fail(db: Connection) -> bool:
        raise SessionUnknown("forgotten meanwhile")

    with pytest.raises(SessionUnknown):
        await wait_for_change.until(database, fail, seconds=10, clock=clock)
