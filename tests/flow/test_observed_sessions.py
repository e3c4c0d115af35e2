"""Sessions in panes of the user's own, and what the rest of the daemon does with them."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.agents.demo import DEMO
from rookery.model import facts
from rookery.model.errors import CommandRefused, RuntimeFailed
from rookery.model.evidence import Evidence
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.sessions import Session
from rookery.ports.runtime import StopMethod
from rookery.ports.sightings import Changed, Exited, FellQuiet, Vanished
from rookery.sessions import commands
from rookery.store import evidence, sessions
from rookery.tracking.screen_requests import ScreenRequests
from tests.support.daemon import House, World, passing_time, running
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.runtime import FakeRuntime, Program
from tests.support.rows import make
from tests.support.waiting import kinds, steps, until

pytestmark = pytest.mark.anyio

IT = SessionId("it")


class Guest(FakeRuntime):
    """Holds what is not ours: nothing is started or asked to leave."""

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        if method is StopMethod.ASK:
            raise RuntimeFailed("it is not ours.")
        await super().stop(session, method)


class Theirs:
    """A demo agent in a pane of somebody else's server."""

    def __init__(self, context: House, program: Program) -> None:
        self.context = context
        self.program = program

    async def session(self) -> Session:
        return await self.context.session(IT)

    async def tell(self, sighting: Changed | FellQuiet | Exited | Vanished) -> None:
        self.context.world.runtime.see_again(sighting)
        await self.context.rest()

    async def hear(
        self,
        source: Any,  # noqa: ANN401 - a literal
        *,
        claim: str = "idle",
        later: float = 0,
    ) -> None:
        """Have a source tell what it does, now or some seconds later."""
        at = self.context.world.clock.now() + timedelta(seconds=later)
        told = Evidence(source, claim, at)
        await self.context.database.write(partial(evidence.put, session=IT, evidence=told))


async def add(context: House, **known: Any) -> None:  # noqa: ANN401 - its fields
    usual = {"runtime": "observed", "tmux_server": "/run/default", "tmux_pane": "%1"}

    def add(db: Connection) -> None:
        sessions.add(db, make(context.journal, IT, **{**usual, **known}))
        context.journal.append(db, facts.SessionFound(IT))

    await context.database.write(add)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, Guest)


@pytest.fixture
async def theirs(database: ObservedDatabase, world: World) -> AsyncIterator[Theirs]:
    async with running(database, world) as context:
        program = world.runtime.put("rk_it")
        world.runtime.on_submit = lambda session, words: None  # it has no hooks
        await add(context, tmux_session="own")
        await world.runtime.adopt(IT, DEMO, program.handle)
        yield Theirs(context, program)


@pytest.mark.spec("B7")
async def test_what_was_entered_is_the_proof_where_no_hook_was_ever_heard(
    theirs: Theirs,
) -> None:
    await theirs.context.send(IT, "hello")
    await theirs.context.rest()

    assert await theirs.context.database.read(steps) == ["acknowledged"]
    assert (await theirs.session()).activity is Activity.WORKING


@pytest.mark.spec("B7", "C8")
@pytest.mark.parametrize(
    ("later", "activity"), [(-1, Activity.WORKING), (0, Activity.WORKING), (1, Activity.IDLE)]
)
async def test_a_turn_whose_end_was_told_before_its_beginning_is_over(
    theirs: Theirs, later: float, activity: Activity
) -> None:
    await theirs.hear("registry", later=later)

    await theirs.context.send(IT, "hello")
    await theirs.context.rest()

    assert await theirs.context.database.read(steps) == ["acknowledged"]
    assert (await theirs.session()).activity is activity


@pytest.mark.spec("B7")
async def test_where_a_hook_was_heard_it_is_waited_for(theirs: Theirs) -> None:
    await theirs.hear("hook")

    await theirs.context.send(IT, "hello")
    await theirs.context.rest()

    assert await theirs.context.database.read(steps) == ["submitted"]


@pytest.mark.spec("B6", "C8")
async def test_what_it_does_is_read_off_its_screen(theirs: Theirs) -> None:
    theirs.program.is_working = True
    await theirs.tell(Changed(IT))
    working = await theirs.session()
    theirs.program.is_working, theirs.program.dialog = False, "May I?"
    await theirs.tell(Changed(IT))
    asking = await theirs.session()
    theirs.program.dialog = ""
    await theirs.tell(Changed(IT))
    await theirs.tell(Changed(IT))

    assert working.activity is Activity.WORKING
    assert (asking.activity, asking.reason) == (Activity.PERMISSION, "May I?")
    assert (await theirs.session()).activity is Activity.IDLE
    assert IT not in theirs.context.world.runtime.unattended


@pytest.mark.spec("B6")
async def test_a_turn_that_was_too_short_to_be_seen_ends_once_it_is_quiet(
    theirs: Theirs,
) -> None:
    await theirs.context.send(IT, "hello")
    await theirs.context.rest()

    await theirs.context.pass_time(2)
    await theirs.tell(FellQuiet(IT))

    found = await theirs.session()
    assert (found.activity, found.reason) == (Activity.IDLE, "")


@pytest.mark.spec("C8")
async def test_its_screen_is_read_no_more_once_its_hooks_tell(theirs: Theirs) -> None:
    await theirs.hear("hook")
    theirs.program.is_working = True

    await theirs.tell(Changed(IT))

    assert (await theirs.session()).activity is Activity.IDLE
    assert IT in theirs.context.world.runtime.unattended


@pytest.mark.spec("C8")
async def test_a_turn_whose_end_its_hooks_do_not_tell_ends_once_its_screen_rests(
    theirs: Theirs,
) -> None:
    runtime = theirs.context.world.runtime
    await theirs.hear("hook")
    await theirs.tell(Changed(IT))
    screen_requests = ScreenRequests(
        theirs.context.database, runtime, theirs.context.world.clock
    )
    async with theirs.context.beside(screen_requests.keep):
        told = facts.TurnStarted(IT, "go")
        await theirs.context.database.write(lambda db: theirs.context.journal.append(db, told))
        await theirs.context.rest()
        await theirs.tell(Changed(IT))
        looked_at = IT not in runtime.unattended
        began = (await theirs.session()).activity

        await theirs.context.pass_time(5)
        await theirs.tell(FellQuiet(IT))
        await theirs.tell(Changed(IT))

        found = await theirs.session()
        assert (looked_at, began) == (True, Activity.WORKING)
        assert (found.activity, found.reason) == (Activity.IDLE, "interrupted")
        assert IT in runtime.unattended


@pytest.mark.spec("C8")
async def test_its_agents_own_file_is_believed_before_its_screen(theirs: Theirs) -> None:
    await theirs.hear("registry")
    theirs.program.is_working = True
    await theirs.tell(Changed(IT))
    idle = await theirs.session()

    await theirs.context.send(IT, "hello")
    await theirs.hear("registry", claim="working", later=1)
    theirs.program.is_working = False
    await theirs.context.pass_time(5)
    await theirs.tell(FellQuiet(IT))

    assert idle.activity is Activity.IDLE
    assert (await theirs.session()).activity is Activity.WORKING


@pytest.mark.spec("C8", "D5")
async def test_a_dialog_stays_while_its_agents_own_file_says_so_and_its_screen_moves(
    theirs: Theirs,
) -> None:
    told = facts.TurnStarted(IT, "go"), facts.InputAsked(IT, "permission", "?")
    await theirs.context.database.write(lambda db: theirs.context.journal.append(db, *told))
    await theirs.hear("registry", claim="permission", later=1)
    theirs.program.dialog = "May I?"
    theirs.program.screen.append("its light blinks")

    await theirs.tell(Changed(IT))

    assert (await theirs.session()).activity is Activity.PERMISSION


@pytest.mark.spec("C8")
async def test_a_turn_that_its_agents_own_file_has_missed_is_read_off_its_screen(
    theirs: Theirs,
) -> None:
    await theirs.hear("registry", later=-1)
    await theirs.context.send(IT, "hello")
    await theirs.context.rest()

    await theirs.context.pass_time(5)
    await theirs.tell(FellQuiet(IT))

    found = await theirs.session()
    assert (found.activity, found.reason) == (Activity.IDLE, "")


@pytest.mark.spec("A4", "B6")
@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (Exited(IT, None, None, ("$ secret",)), "its program ended"),
        (Vanished(IT), "its pane is gone"),
    ],
)
async def test_how_it_ended_nobody_can_tell_and_its_screen_is_not_shown(
    theirs: Theirs, seen: Exited | Vanished, reason: str
) -> None:
    await theirs.tell(seen)

    ended = await theirs.session()
    assert (ended.status, ended.reason) == (Status.COMPLETED, reason)


@pytest.mark.spec("B7")
async def test_it_is_ended_by_force_only(theirs: Theirs) -> None:
    with pytest.raises(CommandRefused, match="rookery end --force it"):
        await theirs.context.end(IT)

    assert theirs.context.world.runtime.asked_to_leave == []


@pytest.mark.spec("B7")
async def test_by_force_it_is_told_and_then_made_to_leave(
    database: ObservedDatabase, theirs: Theirs
) -> None:
    theirs.program.manner.ignores = frozenset({"SIGTERM"})
    runtime = theirs.context.world.runtime

    async with passing_time(database, theirs.context.world.clock):
        end = partial(commands.end, journal=theirs.context.journal, session=IT, by="person")
        await database.write(partial(end, force=True))
        await until(database, lambda db: sessions.get(db, IT).status.is_over)

    ended = await theirs.session()
    assert (ended.status, ended.ended_by) == (Status.KILLED, "person")
    assert runtime.asked_to_leave == [(IT, "SIGTERM"), (IT, "SIGKILL")]
    assert runtime.released == []
    assert theirs.program.signal == signal.SIGKILL


@pytest.mark.spec("A8")
async def test_what_is_in_no_pane_cannot_be_forced(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        await add(context, runtime="headless", tmux_server=None, tmux_pane=None)

        end = partial(commands.end, journal=context.journal, session=IT, by="person")
        with pytest.raises(CommandRefused, match="end it where it runs"):
            await database.write(partial(end, force=True))


@pytest.mark.spec("A7")
async def test_our_own_servers_panes_say_nothing_of_theirs(
    database: ObservedDatabase, world: World
) -> None:
    async with running(database, world) as context:
        await add(context, tmux_session="rk_stranger")
    world.runtime.put("rk_stranger")

    async with running(database, world) as context:
        found = await context.session(IT)
        strangers = [each.name for each in await database.read(sessions.live)]

    assert (found.status, found.tmux_pane) == (Status.RUNNING, "%1")
    assert sorted(strangers) == ["it", "rk_stranger"]
    assert "session-recovered" not in await database.read(kinds)
    assert IT not in world.runtime.adopted
