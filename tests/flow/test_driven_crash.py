"""The daemon dies at every commit and around every command to the driver host."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, cast

import anyio
import pytest

from rookery.agents.demo import DEMO
from rookery.clock import WallClock
from rookery.drivers.commands import Command, HostReply
from rookery.model.errors import CommitFailed
from rookery.model.facts import SessionId
from rookery.model.notifications import DEFAULT_KINDS
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import Session
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec
from rookery.runtimes.driven.host_connection import HostConnection
from rookery.runtimes.driven.host_process import HostSite
from rookery.runtimes.driven.runtime import DrivenRuntime
from rookery.sessions import start_plans
from rookery.sessions.start_plans import StartRequest
from rookery.store import notifications, requests, sessions, turns
from tests.support.daemon import House, World, running
from tests.support.fakes.connection import connection
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.fate import Fate, Killed
from tests.support.scripted_driver import NAME, ScriptedDriver, hosting, site_in
from tests.support.waiting import all_is_said, kinds, steps

if TYPE_CHECKING:
    from tests.support.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio

FIRST, SECOND = "run: ls\nsay: done", "say: more"


def _scripted(_: LaunchSpec) -> DriverLine:
    return DriverLine(NAME, CommandLine((), {}))


AGENTS = {"demo": replace(DEMO, driven={"acp": _scripted})}


class MortalConnection(HostConnection):
    """Lets the daemon die before and after each command."""

    fate: Fate

    async def ask(
        self, command: Command, *, may_start: bool = False, seconds: float | None = None
    ) -> HostReply:
        self.fate.moment()
        reply = await super().ask(command, may_start=may_start, seconds=seconds)
        self.fate.moment()
        return reply


class Life:
    """One daemon, from its start to its death or to the end of the story."""

    prompt = FIRST

    def __init__(self, folder: Path, site: HostSite, fate: Fate) -> None:
        self.path = folder / "rookery.db"
        self.world = World(folder)
        # The host is real and needs real time.
        self.world.clock = cast("FakeClock", WallClock())
        self.fate = fate
        self.runtime = DrivenRuntime(site, WallClock())
        host = self.runtime._host  # noqa: SLF001 - the test stands at its commands
        host.__class__ = MortalConnection
        vars(host)["fate"] = fate

    async def live(self) -> None:
        """Ask for what the story wants and was not accepted yet, until all of it is done."""
        mortal = connection(before_commit=self.fate.moment, after_commit=self.fate.moment)
        async with (
            ObservedDatabase(self.path, WallClock(), connection=mortal) as database,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self.runtime.keep)
            house = running(database, self.world, self.runtime, AGENTS, answering=self.runtime)
            async with house as context:
                with anyio.fail_after(10):
                    await self.act(context)
            tasks.cancel_scope.cancel()

    async def act(self, context: House) -> None:
        while True:
            self.fate.mourn()
            bell = context.database.bell()
            session = await context.database.read(the_session)
            if session is None:
                await context.accept(self._plan())
            elif session.status.is_over:
                return
            else:
                await self._go_on(context, session)
            with anyio.move_on_after(0.5):
                await bell.wait()

    def _plan(self) -> start_plans.StartPlan:
        wanted = StartRequest(
            agent="demo", project=str(self.world.project), prompt=self.prompt, runtime="acp"
        )
        return start_plans.plan(wanted, AGENTS, command=("/bin/sh",), path="", limit=5)

    async def _go_on(self, context: House, session: Session) -> None:
        """Answer what is asked, send the second message, and end the session at last."""
        open_requests = await context.database.read(
            partial(requests.open_of, session=session.id)
        )
        for request in open_requests:
            decider = self.world.permissions(context.journal)
            allowed = Verdict(Outcome.ALLOWED, "person")
            await context.database.write(
                partial(decider.answer, request=request, verdict=allowed)
            )
        ended = await context.database.read(partial(count_ended, session=session.id))
        accepted = len(await context.database.read(steps))
        if ended == 1 and accepted == 1:
            await context.send(session.id, SECOND)
        elif ended == 2:
            await context.end(session.id)


class FailingLife(Life):
    """A story in which the agent's program dies in its first turn, and a person is told."""

    prompt = "cut-off: it crashed"

    async def act(self, context: House) -> None:
        at, kinds_told = WallClock().now(), {"desktop": DEFAULT_KINDS}
        await context.database.write(
            partial(notifications.put_channels, kinds=kinds_told, at=at)
        )
        await super().act(context)

    async def _go_on(self, context: House, session: Session) -> None:
        """Wait for its end, which needs nothing more."""


def the_session(db: Connection) -> Session | None:
    row = db.execute("select id from sessions").fetchone()
    return sessions.get(db, SessionId(row["id"])) if row else None


def count_ended(db: Connection, session: SessionId) -> int:
    return sum(bool(each.ended_at) for each in turns.of_session(db, session, last=9))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[HostSite]:
    ScriptedDriver.heard.clear()
    site = site_in(tmp_path)
    async with hosting(site):
        yield site


async def live_once(folder: Path, site: HostSite, fate: Fate, life: type[Life] = Life) -> bool:
    """Live until the story ends; false if the daemon was killed before."""
    is_alive = True
    try:
        await life(folder, site, fate).live()
    except* (Killed, CommitFailed):
        is_alive = False
    return is_alive


def check(folder: Path) -> None:
    """Nothing was lost, and nothing was done twice."""
    assert ScriptedDriver.heard == [FIRST, SECOND]
    db = sqlite3.connect(folder / "rookery.db")
    db.row_factory = sqlite3.Row
    session = the_session(db)
    assert session
    assert (session.status, session.ended_by) == ("killed", "person")
    assert all_is_said(db)
    assert steps(db) == ["acknowledged", "acknowledged"]
    told = kinds(db)
    for each in ("session-started", "input-asked", "tool-used", "session-ended"):
        assert told.count(each) == 1, (each, told)
    assert told.count("turn-started") == told.count("turn-ended") == 2
    answers = [each.answer for each in turns.of_session(db, session.id, last=9)]
    assert answers == ["done", "more"]
    db.close()


#: The moments are divided among so many tests, which run side by side.
PARTS = 4


@pytest.mark.spec("K3", "A7", "G2")
@pytest.mark.parametrize("part", range(PARTS))
async def test_whenever_the_daemon_dies_the_next_one_goes_on(
    site: HostSite, tmp_path: Path, part: int
) -> None:
    immortal = Fate()
    assert await live_once(tmp_path, site, immortal)
    check(tmp_path)

    for die_at in range(part, immortal.moments, PARTS):
        ScriptedDriver.heard.clear()
        folder = tmp_path / str(die_at)
        folder.mkdir()
        if not await live_once(folder, site, Fate(die_at)):
            assert await live_once(folder, site, Fate()), die_at
        check(folder)


def check_failure(folder: Path) -> None:
    """Check that the failure was recorded, and that a person is told of it once."""
    db = sqlite3.connect(folder / "rookery.db")
    db.row_factory = sqlite3.Row
    session = the_session(db)
    assert session
    assert (session.status, session.reason) == ("failed", "it crashed")
    recorded = kinds(db)
    assert (recorded.count("turn-ended"), recorded.count("session-ended")) == (1, 1)
    told = [(each.kind, each.text) for each in notifications.latest(db, limit=9)]
    assert told == [("failed", "it crashed")]
    db.close()


@pytest.mark.spec("A5", "H5", "K3")
async def test_whenever_the_daemon_dies_a_failure_that_ends_its_session_is_told_once(
    site: HostSite, tmp_path: Path
) -> None:
    immortal = Fate()
    assert await live_once(tmp_path, site, immortal, FailingLife)
    check_failure(tmp_path)

    for die_at in range(immortal.moments):
        folder = tmp_path / str(die_at)
        folder.mkdir()
        if not await live_once(folder, site, Fate(die_at), FailingLife):
            assert await live_once(folder, site, Fate(), FailingLife), die_at
        check_failure(folder)
