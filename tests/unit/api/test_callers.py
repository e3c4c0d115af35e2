"""Who asks on the unix socket: by process, ancestors, terminal and environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from rookery.api.callers import MAX_REMEMBERED, Callers
from rookery.api.peer_evidence import Position, ProcessEvidence
from rookery.model.errors import Forbidden, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Scope
from rookery.model.variables import OWN_GIT
from rookery.processes import Process
from rookery.sessions import record_end
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk, session_caller

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K5")]

OWNER = Identity(Scope.OWNER, "unix")


def process(pid: int) -> Process:
    return Process(pid, "7")


@dataclass
class World:
    """Processes of our invention, each below another."""

    desk: Desk
    clock: FakeClock
    parents: dict[int, int] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)
    terminals: dict[int, int] = field(default_factory=dict)
    server: int = 50
    drivers: int = 60
    reads: int = 0

    def __post_init__(self) -> None:
        self.callers = Callers(
            *(self.desk.database, self.desk.runtime.holder_of, self.clock),
            *(Path("tmux"), Path("drivers")),
            process=lambda pid: process(pid) if pid in self.parents else None,
            read=self.read,
            position=self.position,
            terminal=lambda pid: self.terminals.get(pid, 0),
            server=lambda path: self.server if path == Path("tmux") else self.drivers,
        )

    def read(self, pid: int) -> ProcessEvidence | None:
        self.reads += 1
        chain = []
        while pid in self.parents:
            chain.append(pid)
            pid = self.parents[pid]
        if not chain:
            return None
        named = tuple(self.named[each] for each in chain if each in self.named)
        return ProcessEvidence(tuple(map(process, chain)), named, self.position(chain[0]))

    def position(self, pid: int) -> Position:
        """Say on which terminal a process is, and with whom."""
        terminal, tree = self.terminals.get(pid, 0), set()
        while pid in self.parents and self.terminals.get(pid, 0) == terminal:
            tree.add(pid)
            pid = self.parents[pid]
        return Position(terminal, frozenset(tree))

    async def identify(self, pid: int) -> Identity:
        return await self.callers.identify(pid)


@pytest.fixture
async def world(database: ObservedDatabase, clock: FakeClock) -> World:
    desk = Desk(database, Journal("here", clock, readers={}))
    await desk.settle("agent", runtime="headless", process=process(10).key)
    await desk.settle("stranger")
    return World(desk, clock)


async def test_what_runs_below_an_agent_is_the_agents_session(world: World) -> None:
    world.parents = {10: 2, 11: 10, 12: 11, 2: 1, 20: 2}

    found = [await world.identify(pid) for pid in (12, 10, 20)]

    assert found == [session_caller_of("agent"), session_caller_of("agent"), OWNER]


def session_caller_of(name: str) -> Identity:
    return session_caller(SessionId(name))


async def test_of_agents_that_run_agents_the_nearest_is_meant(world: World) -> None:
    await world.desk.settle("inner", runtime="headless", process=process(12).key)
    world.parents = {10: 1, 12: 10, 13: 12}

    assert (await world.identify(13)).session == "inner"


async def test_the_environment_tells_whose_a_detached_process_is(world: World) -> None:
    world.parents = {30: 1, 31: 30, 32: 1}
    world.named = {30: "agent", 32: "no session of this home"}

    assert (await world.identify(31)).session == "agent"
    assert await world.identify(32) == OWNER


async def test_what_rookerys_own_git_runs_is_refused(world: World) -> None:
    """An agent may have configured a hook or a filter there."""
    world.parents = {30: 1, 31: 30}
    world.named = {30: OWN_GIT}

    with pytest.raises(Forbidden, match="git command"):
        await world.identify(31)


async def test_a_claimed_environment_does_not_beat_the_process_tree(world: World) -> None:
    world.parents = {10: 1, 11: 10}
    world.named = {11: "stranger"}

    assert (await world.identify(11)).session == "agent"


async def test_a_process_that_left_its_tree_is_known_by_its_terminal(world: World) -> None:
    world.parents = {4: 1, 5: 4, 10: 5, 40: 4, 41: 5, 42: 4}
    world.terminals = dict.fromkeys((5, 10, 40, 41), 34816)

    detached, of_the_shell = await world.identify(40), await world.identify(41)
    elsewhere = await world.identify(42)

    assert detached.session == "agent"
    assert of_the_shell == OWNER
    assert elsewhere == OWNER


async def test_a_script_that_runs_agents_is_its_persons(world: World) -> None:
    world.parents = {6: 1, 10: 6, 43: 6}
    world.terminals = dict.fromkeys((6, 10, 43), 34816)

    assert await world.identify(43) == OWNER


async def test_a_job_of_our_own_tmux_server_is_nobodys(world: World) -> None:
    world.parents = {50: 1, 51: 50}

    with pytest.raises(Forbidden, match="own tmux server"):
        await world.identify(51)


@pytest.mark.spec("K5")
async def test_a_process_below_the_driver_host_is_never_the_owner(world: World) -> None:
    world.parents = {60: 1, 61: 60}

    with pytest.raises(Forbidden, match="driver host"):
        await world.identify(61)


@pytest.mark.spec("K5")
async def test_below_the_driver_host_no_environment_is_believed(world: World) -> None:
    world.parents = {60: 1, 61: 60, 62: 61}
    world.named = {61: "agent", 62: "stranger"}

    with pytest.raises(Forbidden, match="driver host"):
        await world.identify(62)


async def test_a_process_that_is_gone_is_nobody(world: World) -> None:
    with pytest.raises(RuntimeFailed):
        await world.identify(99)


async def test_a_process_of_an_ended_session_reads_its_family_and_does_no_more(
    world: World,
) -> None:
    await world.desk.settle("child", parent="agent")
    world.parents = {30: 1}
    world.named = {30: "agent"}
    end = partial(
        record_end.end,
        journal=world.desk.journal,
        session=SessionId("agent"),
        outcome="completed",
        reason="it ended",
    )
    await world.desk.database.write(end)

    identity = await world.identify(30)
    listed = await world.desk.ask("list", by=identity, all=True)

    assert (identity.scope, identity.session) == (Scope.READER, "agent")
    assert {each.name for each in listed.sessions} == {"agent", "child"}
    with pytest.raises(Forbidden):
        await world.desk.ask("show", by=identity, session="stranger")
    with pytest.raises(Forbidden):
        await world.desk.ask("send", by=identity, session="child", words="Go on.")


async def test_a_process_is_looked_at_once_for_its_session(world: World) -> None:
    world.parents = {10: 1, 20: 1}

    for _ in range(3):
        await world.identify(10)
        await world.identify(20)
    looked = world.reads
    world.parents[10] = 1
    world.clock.advance(2)
    await world.desk.settle("late", runtime="headless", process=process(20).key)

    assert looked == 2
    assert (await world.identify(20)).session == "late"
    assert (await world.identify(10)).session == "agent"
    assert world.reads == 3


async def test_only_so_many_processes_are_remembered(world: World) -> None:
    world.parents = dict.fromkeys(range(100, 100 + MAX_REMEMBERED + 10), 1)

    for pid in world.parents:
        await world.identify(pid)

    assert len(world.callers._remembered) == MAX_REMEMBERED  # noqa: SLF001 - what is counted
