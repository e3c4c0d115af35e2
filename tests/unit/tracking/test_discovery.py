from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import anyio
import pytest

from rookery.agents.catalog import AGENTS
from rookery.model.facts import SessionId, SessionStarted
from rookery.model.sessions import Session
from rookery.sessions import record_end
from rookery.store import sessions
from rookery.store.journal import Journal
from rookery.tracking.discovery import CHECK_INTERVAL_SECONDS, Discovery
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.fakes.processes import FakeTable
from tests.support.fakes.servers import FakeHolder, FakeServer
from tests.support.rows import make
from tests.support.waiting import kinds, until

pytestmark = pytest.mark.anyio

SOCKET = "/run/default"


class Desk:
    """A person's tmux, and a discovery that looks at it."""

    def __init__(self, database: ObservedDatabase, journal: Journal) -> None:
        self.database = database
        self.journal = journal
        self.holder = FakeHolder()
        self.table = FakeTable()
        self.sockets = [Path(SOCKET)]
        self.discovery = self.begin_life()

    def begin_life(self) -> Discovery:
        """Have the daemon die, and the next one begin."""
        self.holder.attached.clear()
        self.discovery = Discovery(
            self.database,
            self.journal,
            AGENTS,
            self.holder,
            self.table,
            lambda: self.sockets,
            Path("/run/own"),
        )
        return self.discovery

    @property
    def server(self) -> FakeServer:
        return self.holder.server(SOCKET)

    def open(self, pid: int, *argv: str, **more: str) -> dict[str, object]:
        """Open a window with a shell, and start a program there."""
        folder = more.pop("folder", "/code/project")
        self.table.run(pid, "sh")
        self.table.run(pid + 1, *argv, below=pid, folder=folder)
        return self.server.open(f"%{pid}", pid, **more)

    async def look(self) -> None:
        await self.discovery.check_server(SOCKET)

    async def all(self) -> list[Session]:
        return await self.database.read(sessions.live)

    async def only(self) -> Session:
        (found,) = await self.all()
        return found

    async def get(self, session: SessionId) -> Session:
        return await self.database.read(partial(sessions.get, session=session))

    async def add(self, name: str, **known: Any) -> SessionId:  # noqa: ANN401 - its fields
        def add(db: Connection) -> None:
            sessions.add(db, make(self.journal, name, **known))
            self.journal.append(db, SessionStarted(SessionId(name)))

        await self.database.write(add)
        return SessionId(name)

    async def end(self, session: SessionId) -> None:
        end = partial(record_end.end, journal=self.journal, session=session)
        await self.database.write(partial(end, outcome="completed", reason="said goodbye"))

    async def kinds(self) -> list[str]:
        return await self.database.read(kinds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.discovery.run)
            yield
            tasks.cancel_scope.cancel()


@pytest.fixture
def desk(database: ObservedDatabase, journal: Journal) -> Desk:
    return Desk(database, journal)


@pytest.mark.spec("A1", "B6")
async def test_an_agent_in_a_pane_becomes_an_observed_session(desk: Desk) -> None:
    desk.open(10, "claude", window="the api", session="home", folder="/code/Web_Shop")

    await desk.look()

    found = await desk.only()
    assert (found.agent, found.runtime, found.label) == ("claude", "observed", "the api")
    assert (found.name, found.title) == ("web-shop", "Web_Shop")
    assert found.project_path == "/code/Web_Shop"
    assert (found.tmux_server, found.tmux_session, found.tmux_pane) == (SOCKET, "home", "%10")
    assert (found.native_id, found.process) == ("tmux_%10", "11:7")
    assert (found.status, found.activity) == ("running", "idle")
    assert (found.owner, found.origin) == ("discovery", "discovery")
    assert desk.holder.attached == {
        found.id: ("claude", SOCKET, "%10", "11:7"),
    }


@pytest.mark.spec("B6")
async def test_to_look_again_writes_nothing(desk: Desk) -> None:
    desk.open(10, "claude")
    desk.open(20, "vim")
    await desk.look()
    before = await desk.kinds()

    for _ in range(3):
        await desk.look()

    assert await desk.kinds() == before == ["session-found"]


@pytest.mark.spec("B6")
async def test_two_agents_in_one_folder_are_two_sessions(desk: Desk) -> None:
    desk.open(10, "claude")
    desk.open(20, "claude")

    await desk.look()

    assert sorted(each.name for each in await desk.all()) == ["project", "project-2"]


@pytest.mark.spec("B6")
async def test_the_same_pane_on_two_servers_is_two_sessions(desk: Desk) -> None:
    desk.open(10, "claude")
    other = desk.holder.server("/run/other")
    desk.table.run(30, "claude")
    other.open("%10", 30)

    await desk.look()
    await desk.discovery.check_server("/run/other")

    ids = {each.tmux_server: str(each.native_id) for each in await desk.all()}
    assert ids[SOCKET] == "tmux_%10"
    assert ids["/run/other"].startswith("tmux_")
    assert ids["/run/other"].endswith("_%10")


@pytest.mark.spec("B6")
async def test_the_label_follows_the_window(desk: Desk) -> None:
    pane = desk.open(10, "claude", window="before")
    await desk.look()

    pane["window_name"] = "after"
    await desk.look()
    await desk.look()

    assert (await desk.only()).label == "after"
    assert await desk.kinds() == ["session-found", "session-labelled"]


@pytest.mark.spec("B6")
async def test_a_session_that_hooks_told_of_is_seated_in_its_pane(desk: Desk) -> None:
    desk.open(10, "claude", window="the api")
    known = await desk.add(
        "known", agent="claude", runtime="headless", process="11:7", native_id="abc"
    )

    await desk.look()

    found = await desk.only()
    assert (found.id, found.native_id) == (known, "abc")
    assert (found.runtime, found.tmux_pane, found.label) == ("observed", "%10", "the api")
    assert known in desk.holder.attached


@pytest.mark.spec("A4", "B6")
async def test_a_pane_that_is_gone_ends_its_session_at_the_second_look(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    session = await desk.only()
    desk.server.panes.clear()

    await desk.look()
    still = await desk.get(session.id)
    await desk.look()
    ended = await desk.get(session.id)

    assert still.status == "running"
    assert (ended.status, ended.reason) == ("completed", "its pane is gone")
    assert desk.holder.attached == {}


@pytest.mark.spec("A4", "B6")
async def test_a_program_that_ended_ends_its_session(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    session = await desk.only()

    desk.table.end(11)
    await desk.look()

    ended = await desk.get(session.id)
    assert (ended.status, ended.reason) == ("completed", "its program ended")


@pytest.mark.spec("B6")
async def test_an_agent_that_is_started_again_in_its_pane_is_a_new_session(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    first = await desk.only()

    desk.table.end(11)
    desk.table.run(12, "claude", below=10)
    await desk.look()

    second = await desk.only()
    assert (await desk.get(first.id)).status == "completed"
    assert (second.process, second.native_id) == ("12:7", "tmux_%10")


@pytest.mark.spec("A2", "B6")
async def test_what_is_over_is_not_found_again_while_its_process_goes_on(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    session = await desk.only()

    await desk.end(session.id)
    await desk.look()
    await desk.look()

    assert await desk.all() == []
    assert desk.holder.attached == {}


@pytest.mark.spec("A9", "B6")
async def test_an_agent_that_a_hook_has_registered_again_is_found_in_its_pane(
    desk: Desk,
) -> None:
    desk.open(10, "claude")
    await desk.look()
    await desk.end((await desk.only()).id)
    await desk.look()

    await desk.add("again", agent="claude", runtime="headless", process="11:7")
    await desk.look()

    again = await desk.only()
    assert (again.id, again.runtime, again.tmux_pane) == ("again", "observed", "%10")


@pytest.mark.spec("A7", "B6")
async def test_a_server_that_does_not_answer_is_no_death(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    desk.server.fails = "it hangs."

    for _ in range(3):
        await desk.discovery.discover()

    assert (await desk.only()).status == "running"


@pytest.mark.spec("A7")
async def test_what_lived_on_is_held_again_and_no_server_is_asked(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    session = await desk.only()
    desk.begin_life()
    desk.server.fails = "it hangs."

    await desk.discovery.recover()

    assert (await desk.only()).id == session.id
    assert desk.holder.attached[session.id] == (
        "claude",
        SOCKET,
        "%10",
        "11:7",
    )
    assert await desk.kinds() == ["session-found", "session-recovered"]


@pytest.mark.spec("A7")
async def test_what_ended_while_the_daemon_was_away_is_lost(desk: Desk) -> None:
    desk.open(10, "claude")
    await desk.look()
    session = await desk.only()
    desk.begin_life()
    desk.table.end(11)

    await desk.discovery.recover()

    ended = await desk.get(session.id)
    assert (ended.status, ended.reason) == ("failed", "lost while the daemon was away")


@pytest.mark.spec("B6")
async def test_servers_are_followed_as_they_come_and_go(desk: Desk, clock: FakeClock) -> None:
    desk.sockets.clear()
    async with desk.running():
        await clock.someone_sleeps()
        desk.open(10, "claude")
        desk.sockets.append(Path(SOCKET))

        clock.advance(CHECK_INTERVAL_SECONDS)

        await until(desk.database, lambda db: len(sessions.live(db)) == 1)


@pytest.mark.spec("B6", "K4")
async def test_a_server_in_trouble_keeps_no_other_waiting(desk: Desk) -> None:
    desk.open(10, "claude")
    broken = desk.holder.server("/run/broken")
    broken.fails = "it hangs."
    desk.sockets.append(Path("/run/broken"))

    async with desk.running():
        await until(desk.database, lambda db: len(sessions.live(db)) == 1)


@pytest.mark.spec("B7")
async def test_all_panes_are_listed_but_those_that_keep_our_own_server(desk: Desk) -> None:
    desk.open(10, "claude")
    own = desk.holder.server("/run/own")
    own.open("%0", 50, session="rk_0123abcd")
    own.open("%1", 51, session="rookery")
    own.open("%2", 52, session="rookery")
    own.open("%2", 52, session="work")  # renamed by its person; the hub's row comes first

    listed = await desk.discovery.list_all()

    assert [(each.server, each.pane) for each in listed] == [
        (SOCKET, "%10"),
        ("/run/own", "%0"),
        ("/run/own", "%2"),
    ]
