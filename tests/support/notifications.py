"""A daemon that only tells a person about sessions, with fakes around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

import anyio

from rookery.model.facts import Fact
from rookery.model.notifications import DEFAULT_KINDS, NotificationKind
from rookery.notifications import long_turns, outcomes
from rookery.notifications.dispatcher import NotificationDispatcher, NotificationTiming
from rookery.store import notifications
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.notifier import FakeNotifier
from tests.support.fakes.runtime import FakeRuntime

READERS = {"notifications": outcomes.READER, "long turns": long_turns.READER}

TIMING = NotificationTiming(
    batch=timedelta(seconds=2),
    reminder=timedelta(minutes=10),
    waiting=timedelta(seconds=5),
    long_turn=timedelta(minutes=10),
)


class Newsroom:
    """Writes facts into a store, and reads what became of the notifications."""

    def __init__(self, database: ObservedDatabase, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.journal = Journal("here", database.clock, READERS)
        self.runtime = FakeRuntime()

    async def happen(self, *happened: Fact) -> None:
        await self.database.write(lambda db: self.journal.append(db, *happened))

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.database.rest()

    async def states(self) -> list[tuple[str, str]]:
        return await self.database.read(states)


@asynccontextmanager
async def telling(
    database: ObservedDatabase,
    clock: FakeClock,
    notifiers: Sequence[FakeNotifier],
    timing: NotificationTiming = TIMING,
    kinds: Collection[NotificationKind] = DEFAULT_KINDS,
) -> AsyncIterator[Newsroom]:
    """Run the reader and the dispatchers of these channels."""
    database.keep_time_by(clock)
    room = Newsroom(database, clock)
    carried = {each.name: kinds for each in notifiers}
    put = partial(notifications.put_channels, kinds=carried, at=clock.now())
    await database.write(put)
    await room.journal.catch_up(database)
    async with anyio.create_task_group() as tasks:
        for each in notifiers:
            sender = NotificationDispatcher(database, clock, room.runtime, each, timing)
            tasks.start_soon(sender.run)
        yield room
        tasks.cancel_scope.cancel()


def states(db: Connection) -> list[tuple[str, str]]:
    """Return the state of each notification, and why it is so."""
    rows = db.execute("select state, reason from notifications order by id")
    return [(row["state"], row["reason"]) for row in rows]
