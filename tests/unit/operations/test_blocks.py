"""The output of a session, block by block: what is listed, waited for and caught up with."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.config import LimitSettings, Settings
from rookery.model.blocks import Block, BlockKind
from rookery.model.errors import BadInput, Forbidden
from rookery.model.facts import SessionEnded, SessionId, ToolCalled
from rookery.operations.blocks import Blocks
from rookery.store import blocks, foregrounds
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G4")]

ANNA, BERT = SessionId("anna"), SessionId("bert")
Happening = Callable[[], Awaitable[None]]
TEXT, CALL = BlockKind.TEXT, BlockKind.TOOL_CALL


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle(ANNA)
    return desk


async def say(desk: Desk, *words: str, kind: BlockKind = TEXT) -> None:
    said = [Block(kind, each) for each in words]
    now = desk.journal.clock.now()
    await desk.database.write(lambda db: blocks.append(db, ANNA, said, at=now))


def numbers(found: Blocks) -> list[int]:
    return [each.number for each in found.blocks]


async def test_without_a_number_the_last_blocks_are_listed(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    few = Settings(limits=LimitSettings(output_blocks=3))
    desk = Desk(database, Journal("here", clock, readers={}), few)
    await desk.settle(ANNA)
    await say(desk, *"abcde")

    found = await desk.ask("blocks", session=ANNA)
    more = await desk.ask("blocks", session=ANNA, last=4)

    assert numbers(found) == [3, 4, 5]
    assert (found.up_to, found.count, found.session.name) == (5, 5, "anna")
    assert numbers(more) == [2, 3, 4, 5]


def test_the_last_200_blocks_are_at_hand() -> None:
    assert LimitSettings().output_blocks == 200


async def test_after_a_number_the_first_blocks_come_and_how_to_go_on(
    database: ObservedDatabase, clock: FakeClock
) -> None:
    few = Settings(limits=LimitSettings(output_blocks=2))
    desk = Desk(database, Journal("here", clock, readers={}), few)
    await desk.settle(ANNA)
    await say(desk, *"abcde")

    pages = [await desk.ask("blocks", session=ANNA, after=0)]
    while pages[-1].up_to < pages[-1].count:
        pages.append(await desk.ask("blocks", session=ANNA, after=pages[-1].up_to))

    assert [numbers(page) for page in pages] == [[1, 2], [3, 4], [5]]
    assert numbers(await desk.ask("blocks", session=ANNA, after=1, last=2)) == [4, 5]


async def test_kinds_are_chosen_and_the_others_are_not_searched_again(desk: Desk) -> None:
    await say(desk, "make", "ls", kind=CALL)
    await say(desk, "Done.")
    await say(desk, "make", kind=CALL)

    found = await desk.ask("blocks", session=ANNA, after=0, kinds=(TEXT,))

    assert (numbers(found), found.up_to) == ([3], 4)
    assert numbers(await desk.ask("blocks", session=ANNA, last=2, kinds=(CALL,))) == [2, 4]


async def test_an_answer_stays_within_bounds_and_leaves_nothing_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MAX_READ_CHARACTERS", 25)
    await say(desk, "x" * 40, "y" * 10, "z" * 10, "w" * 10)

    pages = [await desk.ask("blocks", session=ANNA, after=0)]
    while pages[-1].up_to < pages[-1].count:
        pages.append(await desk.ask("blocks", session=ANNA, after=pages[-1].up_to))

    assert [numbers(page) for page in pages] == [[1], [2, 3], [4]]
    assert numbers(await desk.ask("blocks", session=ANNA)) == [3, 4]


async def waited(desk: Desk, clock: FakeClock, happens: Happening, *, after: int) -> Blocks:
    """Ask for blocks and wait; then something happens. Return the answer."""
    answers = list[Blocks]()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                answers.append(await desk.ask("blocks", session=ANNA, timeout=600, after=after))

            tasks.start_soon(ask)
            await clock.someone_sleeps()
            await happens()
    return answers[0]


async def test_a_waiting_caller_gets_the_next_block(desk: Desk, clock: FakeClock) -> None:
    await say(desk, "One.")

    found = await waited(desk, clock, partial(say, desk, "Two."), after=1)

    assert [each.text for each in found.blocks] == ["Two."]


async def test_a_waiting_caller_gets_the_block_of_a_hook(desk: Desk, clock: FakeClock) -> None:
    called = ToolCalled(ANNA, "Bash", "make")

    async def call() -> None:
        await desk.database.write(lambda db: desk.journal.append(db, called))

    found = await waited(desk, clock, call, after=0)

    assert [(each.tool, each.text) for each in found.blocks] == [("Bash", "make")]


async def test_a_wait_ends_with_the_session(desk: Desk, clock: FakeClock) -> None:
    await say(desk, "One.")

    async def end() -> None:
        ended = SessionEnded(ANNA, "exit 0")
        await desk.database.write(lambda db: desk.journal.append(db, ended))

    found = await waited(desk, clock, end, after=1)

    assert (found.blocks, found.session.status) == ([], "completed")
    again = await desk.ask("blocks", session=ANNA, after=1, timeout=600)
    assert again.blocks == []


@pytest.mark.spec("K5")
async def test_a_session_reads_the_output_of_its_family_only(desk: Desk) -> None:
    await desk.settle(BERT)
    await say(desk, "A secret.")

    with pytest.raises(Forbidden):
        await desk.ask("blocks", session=ANNA, by=session_caller(BERT))
    own = await desk.ask("blocks", session=ANNA, by=session_caller(ANNA))
    assert numbers(own) == [1]
    with pytest.raises(Forbidden):
        await desk.ask("shown_blocks", session=ANNA, seen=1, by=session_caller(ANNA))


@pytest.mark.spec("H3")
async def test_a_channel_gets_what_it_has_not_shown(desk: Desk) -> None:
    await say(desk, *"abc")

    first = await desk.ask("blocks", session=ANNA, channel="terminal")
    shown = await desk.ask("shown_blocks", session=ANNA, seen=2)
    behind = await desk.ask("shown_blocks", session=ANNA, seen=1)
    beyond = await desk.ask("blocks", session=ANNA, channel="terminal")
    too_far = await desk.ask("shown_blocks", session=ANNA, seen=900)

    assert (numbers(first), numbers(beyond)) == ([1, 2, 3], [3])
    assert [each.seen for each in (shown, behind, too_far)] == [2, 2, 3]


@pytest.mark.parametrize("operation", ["blocks", "shown_blocks"])
async def test_an_unknown_channel_is_refused(desk: Desk, operation: str) -> None:
    given: dict[str, Any] = {"seen": 1} if operation == "shown_blocks" else {}

    with pytest.raises(BadInput, match="unknown channel 'pager'; known: terminal"):
        await desk.ask(operation, session=ANNA, channel="pager", **given)


class Killed(Exception):
    """The daemon died before it could commit."""


class Channel:
    """A channel of the daemon: it stores what it is given, and that, in one transaction."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self.chance = name, chance
        self.given: list[int] = []

    def take(self, db: Connection) -> list[int]:
        seen = foregrounds.seen_block(db, ANNA, self.name)
        found = blocks.after(db, ANNA, seen, self.chance.randint(1, 300))
        if found:
            foregrounds.mark_blocks(db, ANNA, self.name, seen=found[-1].number)
        if self.chance.random() < 0.1:
            raise Killed
        return [each.number for each in found]

    async def catch_up(self, database: Database) -> None:
        with suppress(Killed):
            self.given += await database.write(self.take)


class Terminal:
    """A client: it remembers what it has shown, and its report of that may be lost."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.given: list[int] = []

    async def catch_up(self, desk: Desk) -> None:
        where: dict[str, Any] = (
            {"after": self.given[-1]} if self.given else {"channel": "terminal"}
        )
        found = await desk.ask("blocks", session=ANNA, **where)
        if self.chance.random() < 0.1:
            return  # the daemon died before it answered
        self.given += numbers(found)
        if found.blocks and self.chance.random() < 0.8:
            await desk.ask("shown_blocks", session=ANNA, seen=self.given[-1])


async def live_on(path: Path, chance: random.Random, listeners: Sequence[Any]) -> int:
    """Let one daemon run for a while. Return how many blocks there are at its end."""
    async with Database(path, FakeClock()) as database:
        desk = Desk(database, Journal("here", FakeClock(), readers={}))
        if not await database.read(lambda db: db.execute("select 1 from sessions").fetchone()):
            await desk.settle(ANNA)
        for _ in range(chance.randint(1, 40)):
            await say(desk, *("x" for _ in range(chance.randint(1, 60))))
            for each in listeners:
                if chance.random() < 0.3:
                    await each.catch_up(desk if isinstance(each, Terminal) else database)
        return await database.read(partial(blocks.count, session=ANNA))


@pytest.mark.spec("H3")
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_each_channel_is_given_every_block_once_across_restarts(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    channels = [Channel("often", chance), Channel("rarely", chance)]
    terminal, path, total = Terminal(chance), tmp_path / "rookery.db", 0

    while total < 10_000:
        total = await live_on(path, chance, [*channels, terminal])
    async with Database(path, FakeClock()) as database:
        desk = Desk(database, Journal("here", FakeClock(), readers={}))
        while terminal.given[-1:] != [total]:
            await terminal.catch_up(desk)
        late = Channel("late", chance)
        for each in (*channels, late):
            while each.given[-1:] != [total]:
                await each.catch_up(database)

    everything = [*range(1, total + 1)]
    assert terminal.given == everything
    assert [each.given == everything for each in (*channels, late)] == [True] * 3
