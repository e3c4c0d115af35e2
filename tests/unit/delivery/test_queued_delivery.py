"""Messages that are given to an agent's own queue: never twice, and rarely typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from sqlite3 import Connection

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.delivery.queued_delivery import (
    MAX_QUEUE_SILENCE,
    MAX_QUEUE_WAIT,
    QueuedDelivery,
)
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.message_queue import MessageQueue, QueueBroken, QueuePlace
from rookery.model.facts import SessionStarted
from rookery.model.messages import Parcel, Step, Words
from rookery.model.sessions import NativeId
from rookery.ports.deliveries import Blocked, Delivery, DeliveryLog, Submitted
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import message_batches, sessions
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.fate import Killed
from tests.support.rows import WORKER, make

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G7")]


class FakeQueue:
    """A queue of Codex, and what a test makes of it."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.place = QueuePlace.WAITING
        self.error: DriverError | Killed | None = None
        self.is_unreadable = False
        self.taken_meanwhile = False  #: the agent takes a message before it can be removed

    def make(self, launch: DriverLaunch, conversation: str) -> MessageQueue:
        assert (launch.argv, conversation) == (("codex", "app-server"), "thread")
        return self

    async def add(self, receipt: str, text: str) -> None:
        if self.error:
            raise self.error
        self.added.append(text)

    async def find(self, receipt: str) -> QueuePlace:
        if self.is_unreadable:
            raise DriverError("it does not answer.")
        return self.place

    async def remove(self, receipt: str) -> bool:
        return self.place is QueuePlace.WAITING and not self.taken_meanwhile


class Typed:
    """Takes what is typed."""

    def __init__(self, clock: FakeClock) -> None:
        self.words: list[str] = []
        self._clock = clock

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        self.words.append(parcel.words)
        return Submitted(self._clock.now())


class FreeLog:
    async def note_typed(self) -> None: ...

    async def note_untyped(self) -> None: ...

    async def may_submit(self) -> bool:
        return True

    async def previous(self) -> Parcel | None:
        return None


class Case:
    def __init__(self, database: ObservedDatabase, clock: FakeClock) -> None:
        self.database, self.queue, self.typed = database, FakeQueue(), Typed(clock)
        self.delivery = QueuedDelivery(
            database,
            clock,
            self.typed,
            AGENTS,
            uses_queue=lambda agent: True,
            environment=_no_environment,
            find_queue=lambda name: self.queue.make,
        )

    async def deliver(self, parcel: Parcel, *, is_new: bool = True) -> Delivery:
        return await self.delivery.deliver(parcel, FreeLog(), is_new=is_new)

    async def parcel(self) -> Parcel | None:
        return await self.database.read(partial(message_batches.under_way, recipient=WORKER))


def _no_environment(agent: str, profile: str, caller: Mapping[str, str]) -> Mapping[str, str]:
    return {}


@pytest.fixture
async def case(database: ObservedDatabase, clock: FakeClock, journal: Journal) -> Case:
    def add(db: Connection) -> None:
        session = make(journal, WORKER, agent="codex", native_id=NativeId("thread"))
        sessions.add(db, session, launch={"command": ["codex"], "environment": {}})
        journal.append(db, SessionStarted(WORKER))

    await database.write(add)
    return Case(database, clock)


async def claimed(case: Case, journal: Journal, text: str = "Words.") -> Parcel:
    def write(db: Connection) -> Parcel:
        sender = MessageSender("person")
        commands.send(db, journal, speaker=sender, recipient=WORKER, words=Words(text, 0))
        parcel = message_batches.claim(db, WORKER, journal.clock.now())
        assert parcel
        return parcel

    return await case.database.write(write)


async def test_a_message_is_added_and_the_row_says_which_way_it_took(
    case: Case, journal: Journal
) -> None:
    delivered = await case.deliver(await claimed(case, journal))

    parcel = await case.parcel()
    assert isinstance(delivered, Submitted)
    assert parcel
    assert (parcel.way, parcel.step) == ("queue", Step.PASTED)
    assert (case.queue.added, case.typed.words) == (["Words."], [])


async def test_a_command_is_typed(case: Case, journal: Journal) -> None:
    await case.deliver(await claimed(case, journal, "/compact"))

    assert (case.queue.added, case.typed.words) == ([], ["/compact"])


async def test_a_message_is_typed_if_the_queue_took_nothing(
    case: Case, journal: Journal
) -> None:
    case.queue.error = DriverError("there is no such program.")
    await case.deliver(await claimed(case, journal))

    parcel = await case.parcel()
    assert parcel
    assert (parcel.way, case.typed.words) == ("", ["Words."])


async def test_a_message_is_not_typed_if_the_queue_may_have_it(
    case: Case, journal: Journal
) -> None:
    case.queue.error = QueueBroken("it was killed.")
    delivered = await case.deliver(await claimed(case, journal))

    assert isinstance(delivered, Submitted)
    assert case.typed.words == []


@pytest.mark.spec("K3")
async def test_a_crash_during_the_addition_leaves_a_message_that_the_queue_may_have(
    case: Case, journal: Journal
) -> None:
    case.queue.error = Killed()
    with pytest.raises(Killed):
        await case.deliver(await claimed(case, journal))

    parcel = await case.parcel()
    assert parcel
    assert parcel.way == "queue"


@pytest.mark.spec("K3")
async def test_after_a_crash_a_message_in_the_queue_is_not_added_again(
    case: Case, journal: Journal
) -> None:
    parcel = replace(await claimed(case, journal), way="queue")
    delivered = await case.deliver(parcel, is_new=False)

    assert isinstance(delivered, Submitted)
    assert (case.queue.added, case.typed.words) == ([], [])


@pytest.mark.spec("K3")
async def test_after_a_crash_before_the_addition_a_message_is_delivered_anew(
    case: Case, journal: Journal, clock: FakeClock
) -> None:
    case.queue.place = QueuePlace.ABSENT
    parcel = replace(await claimed(case, journal), way="queue")
    found: list[Delivery] = []

    async def deliver() -> None:
        found.append(await case.deliver(parcel, is_new=False))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(deliver)
        await clock.someone_sleeps()
        clock.skip()

    released = await case.parcel()
    assert found == [Blocked()]
    assert released
    assert released.way == ""


@pytest.mark.spec("K3")
async def test_a_message_that_perhaps_never_reached_an_unreadable_queue_waits_for_a_while(
    case: Case, journal: Journal, clock: FakeClock
) -> None:
    case.queue.is_unreadable = True
    parcel = replace(await claimed(case, journal), way="queue")

    first = await case.deliver(parcel, is_new=False)
    clock.advance(MAX_QUEUE_SILENCE.total_seconds() + 1)
    late = await case.deliver(parcel, is_new=False)

    assert isinstance(first, Blocked)
    assert first.is_typed
    assert isinstance(late, Submitted)


@pytest.mark.spec("K3")
async def test_a_message_that_was_taken_waits_for_its_proof_only(
    case: Case, journal: Journal
) -> None:
    case.queue.place = QueuePlace.TAKEN
    parcel = replace(await claimed(case, journal), way="queue")
    delivered = await case.deliver(parcel, is_new=False)

    assert isinstance(delivered, Submitted)
    assert delivered.is_final
    assert (case.queue.added, case.typed.words) == ([], [])


async def test_a_message_that_an_idle_agent_does_not_take_is_taken_back_and_typed(
    case: Case, journal: Journal, clock: FakeClock
) -> None:
    await case.deliver(await claimed(case, journal))
    clock.advance(MAX_QUEUE_WAIT.total_seconds() + 1)
    parcel = await case.parcel()
    assert parcel
    await case.deliver(parcel, is_new=False)

    assert case.typed.words == ["Words."]


async def test_a_message_that_an_agent_takes_at_the_last_moment_is_not_typed(
    case: Case, journal: Journal, clock: FakeClock
) -> None:
    await case.deliver(await claimed(case, journal))
    clock.advance(MAX_QUEUE_WAIT.total_seconds() + 1)
    case.queue.taken_meanwhile = True
    parcel = await case.parcel()
    assert parcel
    delivered = await case.deliver(parcel, is_new=False)

    assert isinstance(delivered, Submitted)
    assert delivered.is_final
    assert case.typed.words == []
