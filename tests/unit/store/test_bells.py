from __future__ import annotations

import gc
from contextlib import closing
from functools import partial
from sqlite3 import Connection, OperationalError, connect

import anyio
import pytest

from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import (
    NO_SESSION,
    DeliveriesHeld,
    Fact,
    Noted,
    SessionId,
    ToolCalled,
    TurnEnded,
    TurnStarted,
)
from rookery.startup.readers import READERS
from rookery.store import blocks, sessions, wait_for_change
from rookery.store.change_signals import QUIET, Bells
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, BERT, settle_in

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(database: ObservedDatabase, journal: Journal) -> ObservedDatabase:
    await database.write(partial(settle_in, journal=journal))
    return database


async def test_a_change_that_is_no_entry_wakes_its_session_and_work(
    database: Database,
) -> None:
    bells = database.bells
    rung = [database.bell(), bells.of_work(), bells.of_sessions([ANNA])]
    silent = bells.of_sessions([BERT])

    bells.wake(ANNA)

    assert all(each.is_set() for each in rung)
    assert not silent.is_set()
    assert not bells.of_work().is_set()


@pytest.mark.parametrize(
    ("fact", "rung"),
    [
        (Noted(ANNA, "x"), {"any", "anna"}),
        (ToolCalled(ANNA, "Bash"), {"any", "work", "anna"}),
        (TurnStarted(BERT, "go"), {"any", "work", "turns", "bert"}),
        (DeliveriesHeld(NO_SESSION, "person"), {"any", "work", "anna", "bert"}),
    ],
)
async def test_an_entry_wakes_those_who_wait_for_its_session_or_its_kind(
    database: Database, journal: Journal, fact: Fact, rung: set[str]
) -> None:
    bells = {
        "any": database.bell(),
        "work": database.bells.of_work(),
        "anna": database.bells.of_sessions([ANNA]),
        "bert": database.bells.of_sessions([BERT]),
        "turns": database.bells.of_kinds([TurnStarted, TurnEnded]),
    }

    await database.write(lambda db: journal.append(db, fact))

    assert {name for name, bell in bells.items() if bell.is_set()} == rung
    assert not database.bell().is_set()
    assert not database.bells.of_work().is_set()


async def test_what_is_written_without_an_entry_wakes_nobody(database: Database) -> None:
    bells = [database.bell(), database.bells.of_sessions([ANNA])]

    await database.write(lambda db: db.execute("delete from bookmarks"))

    assert not any(bell.is_set() for bell in bells)


async def test_a_block_wakes_those_who_wait_for_its_session_only(
    database: Database, clock: FakeClock
) -> None:
    bells = {
        "any": database.bell(),
        "work": database.bells.of_work(),
        "anna": database.bells.of_sessions([ANNA]),
        "bert": database.bells.of_sessions([BERT]),
    }
    said = [Block(BlockKind.TEXT, "Hello.")]

    await database.write(lambda db: blocks.append(db, ANNA, said, at=clock.now()))

    assert {name for name, bell in bells.items() if bell.is_set()} == {"anna"}


async def test_a_block_wakes_also_after_the_last_ones_were_deleted(
    database: Database, clock: FakeClock
) -> None:
    said = [Block(BlockKind.TEXT, each) for each in ("One.", "Two.")]
    await database.write(lambda db: blocks.append(db, ANNA, said, at=clock.now()))
    await database.write(lambda db: blocks.forget(db, ANNA, limit=2))
    bell = database.bells.of_sessions([BERT])

    await database.write(lambda db: blocks.append(db, BERT, said[:1], at=clock.now()))

    assert bell.is_set()


def test_a_waiter_that_leaves_leaves_nothing_behind() -> None:
    bells = Bells()
    kept = bells.of_sessions([ANNA])
    for _ in range(100):
        bells.of_sessions([ANNA, BERT])
    gc.collect()

    left = [event for each in bells._sessions.values() for event in each]  # noqa: SLF001

    assert set(left) == {kept}


async def test_a_wait_for_a_session_is_not_asked_again_for_others(
    database: ObservedDatabase, journal: Journal, clock: FakeClock
) -> None:
    asked = 0

    def question(db: Connection) -> bool:
        nonlocal asked
        asked += 1
        return sessions.get(db, ANNA).activity == "working"

    async def note(session: SessionId) -> None:
        await database.write(lambda db: journal.append(db, Noted(session, "x")))
        await database.rest()

    async with anyio.create_task_group() as tasks:
        wait = partial(wait_for_change.until, database, question, seconds=60, clock=clock)
        tasks.start_soon(partial(wait, sessions=[ANNA]))
        await database.rest()
        await note(BERT)
        after_bert = asked
        await note(ANNA)
        after_anna = asked
        await database.write(lambda db: journal.append(db, TurnStarted(ANNA, "go")))

    assert (after_bert, after_anna, asked) == (1, 2, 3)


def append(journal: Journal, fact: Fact, db: Connection) -> None:
    journal.append(db, fact)


async def test_a_service_is_woken_by_the_kinds_that_it_hears(
    database: ObservedDatabase, journal: Journal, clock: FakeClock
) -> None:
    read = 0

    def needy(db: Connection) -> list[SessionId]:
        nonlocal read
        read += 1
        return []

    async def step(session: SessionId) -> bool:
        return False

    async with anyio.create_task_group() as tasks:
        changed = partial(database.bells.of_kinds, {TurnStarted})
        pending = partial(database.read, needy)
        tasks.start_soon(Reconciler("Serving", clock, pending, step, changed).run)
        for fact in (Noted(ANNA, "x"), TurnStarted(ANNA, "go"), Noted(ANNA, "y")):
            await database.rest()
            await database.write(partial(append, journal, fact))
        await database.rest()
        tasks.cancel_scope.cancel()

    assert read == 2


async def test_a_peek_sees_what_was_committed(database: Database, journal: Journal) -> None:
    await database.write(lambda db: journal.append(db, TurnStarted(ANNA, "go")))

    seen = await database.peek(lambda db: sessions.get(db, ANNA))

    assert seen.activity == "working"


@pytest.mark.spec("K4")
async def test_a_peek_at_a_file_that_is_locked_goes_the_long_way(database: Database) -> None:
    tries = 0

    def look(db: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OperationalError("database is locked")
        return len(db.execute("select * from sessions").fetchall())

    with closing(connect(database.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        found = await database.peek(look)

    assert (found, tries) == (3, 2)


@pytest.mark.parametrize("quiet", sorted(QUIET, key=str))
def test_no_reader_reacts_to_a_fact_that_leaves_nothing_to_do(quiet: type[Fact]) -> None:
    """A reaction may write words for a session, of which no other fact would tell."""
    assert not [name for name, reader in READERS.items() if quiet in reader.hears]
