"""Many starts at once, and starts while tmux cannot be reached."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest

from rookery.model.errors import RuntimeUnreachable
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.ports.runtime import HeldProgram, Launch
from rookery.runtimes.tmux.formats import literal
from rookery.sessions.supervisor import MAX_STARTS
from rookery.store import sessions as known
from rookery.store import wait_for_change
from tests.support.daemon import House, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime, Manner

pytestmark = pytest.mark.anyio


class Counting(FakeRuntime):
    """Knows how many programs were starting at once; they come up once ``may_go_on`` is set."""

    under_way, most = 0, 0

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = anyio.Event()

    async def start(self, launch: Launch) -> HeldProgram:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.may_go_on.wait()
        try:
            return await super().start(launch)
        finally:
            self.under_way -= 1


async def accept_many(context: House, count: int) -> list[SessionId]:
    plans = [context.world.plan(name=f"s{number}", limit=1000) for number in range(count)]
    return [await context.accept(plan) for plan in plans]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.spec("A3")
async def test_starts_are_carried_out_some_at_a_time_and_all_come_up(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, Counting)
    async with running(database, world) as context:
        assert isinstance(world.runtime, Counting)
        asked = await accept_many(context, 3 * MAX_STARTS)
        world.runtime.may_go_on.set()
        await context.rest()
        states = {(await context.session(each)).status for each in asked}

    assert states == {Status.RUNNING}
    assert 1 < world.runtime.most <= MAX_STARTS


@pytest.mark.spec("A3")
async def test_programs_that_do_not_come_up_keep_others_from_starting_for_a_while_only(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        world.runtime.manner = Manner(comes_up=False)
        await accept_many(context, MAX_STARTS)
        await context.rest()
        world.runtime.manner = Manner()
        late = await context.accept(world.plan(name="late"))
        await context.rest()
        at_first = (await context.session(late)).status
        await context.pass_time(10)
        then = (await context.session(late)).status

    assert (at_first, then) == (Status.STARTING, Status.RUNNING)


@pytest.mark.spec("A3", "A4")
async def test_a_start_that_is_ended_while_it_waits_for_its_turn_never_runs(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        world.runtime.manner = Manner(comes_up=False)
        await accept_many(context, MAX_STARTS)
        late = await context.accept(world.plan(name="late"))
        await context.rest()
        await context.end(late)
        await context.pass_time(10)
        over = await context.session(late)

    assert over.status is Status.KILLED
    assert late not in [each.session for each in world.runtime.started]


class Lossy(FakeRuntime):
    """Loses its line in the midst of a start, once before and once after the pane was made."""

    losses = 2

    async def start(self, launch: Launch) -> HeldProgram:
        self.losses -= 1
        if self.losses == 1:
            raise RuntimeUnreachable("it did not answer")
        held = await super().start(launch)
        if self.losses == 0:
            raise RuntimeUnreachable("it did not answer")
        return held


@pytest.mark.spec("A3", "K4")
async def test_a_start_whose_line_to_tmux_is_lost_is_tried_again_and_runs_once(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, Lossy)
    async with passing_time(database, world.clock), running(database, world) as context:
        session = await context.accept(world.plan("Go."))
        with anyio.fail_after(20):
            while (await context.session(session)).status is Status.STARTING:
                await context.rest()
        up = await context.session(session)

    assert up.status is Status.RUNNING
    assert len(world.runtime.started) == 1


@pytest.mark.spec("A3", "K4")
async def test_a_start_is_given_up_once_tmux_was_away_for_too_long(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    class Away(FakeRuntime):
        async def start(self, launch: Launch) -> HeldProgram:
            raise RuntimeUnreachable("there is no connection to tmux.")

    world = World(tmp_path, Away)
    async with passing_time(database, world.clock), running(database, world) as context:
        session = await context.accept(world.plan("Go."))
        with anyio.fail_after(20):
            while (await context.session(session)).status is Status.STARTING:
                await context.rest()
        over = await context.session(session)

    assert over.status is Status.FAILED
    assert "no connection to tmux" in over.reason


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("/a/b", "/a/b"),
        ("a#(touch x)", "a##(touch x)"),
        ("a#{pid}#S", "a##{pid}##S"),
        ("a##(x)", "a####(x)"),
        ("a#[x]##[y]#z", "a#[x]##[y]##z"),
        ("a%H~", "a%H~"),
    ],
)
def test_what_tmux_would_expand_is_escaped(text: str, escaped: str) -> None:
    assert literal(text) == escaped


class SlowToReturn(FakeRuntime):
    """Returns from a start only after the agent has reported that it is up."""

    may_return = anyio.Event()

    async def start(self, launch: Launch) -> HeldProgram:
        held = await super().start(launch)
        await self.may_return.wait()
        return held


@pytest.mark.spec("A3")
async def test_who_waits_for_a_session_is_woken_when_its_pane_is_known(
    database: ObservedDatabase, tmp_path: Path
) -> None:
    world = World(tmp_path, SlowToReturn)
    found = []
    async with running(database, world) as context, anyio.create_task_group() as tasks:
        session = await context.start()

        def has_pane(db: Connection) -> bool:
            return known.get(db, session).tmux_pane is not None

        async def wait() -> None:
            clock = context.journal.clock
            waiting = wait_for_change.until(
                database, has_pane, seconds=5.0, clock=clock, sessions=[session]
            )
            found.append(await waiting)

        tasks.start_soon(wait)
        await context.rest()
        before = await context.session(session)
        SlowToReturn.may_return.set()
        await context.rest()
        await context.pass_time(6.0)

    assert (before.activity, before.tmux_pane) == (Activity.IDLE, None)
    assert found == [True]
