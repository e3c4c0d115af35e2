"""Find agents in the user's own tmux servers, and add and end the sessions for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection
from typing import Protocol, assert_never

import anyio

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionFound, SessionId, SessionLabelled, SessionRecovered
from rookery.model.sessions import NativeId, Session
from rookery.ports.agent import Agent
from rookery.processes import FoundProgram, Process, ProcessTable, find_agent, run_as
from rookery.runtimes.tmux.server import COMMAND_TIMEOUT_SECONDS, HUB, AnyServer
from rookery.runtimes.tmux.user_servers import ListedPane, list_panes, tidy
from rookery.sessions import adopt, record_end
from rookery.sessions.adopt import Arrival, real_folder
from rookery.store import observed_panes, session_bindings, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.pane_matching import (
    AgentGone,
    AgentInPane,
    Change,
    LabelChanged,
    NewAgent,
    PaneAssigned,
    changes_of,
)

#: Seconds between two looks at a server, and for new servers.
CHECK_INTERVAL_SECONDS = 2.0

PANE_GONE, PROGRAM_ENDED = "its pane is gone", "its program ended"


class PaneHolder(Protocol):
    """Holds the sessions that are found."""

    def server(self, socket: str) -> AnyServer: ...
    def held(self) -> frozenset[SessionId]: ...
    def attach(
        self, session: SessionId, agent: Agent, *, server: str, pane: str, process: str
    ) -> None: ...
    def detach(self, session: SessionId) -> None: ...


@dataclass(frozen=True, slots=True)
class Discovery:
    database: Database
    journal: Journal
    agents: Mapping[str, Agent]
    holder: PaneHolder
    table: ProcessTable
    #: Returns the sockets of the user's running servers.
    sockets: Callable[[], Sequence[Path]]
    own: Path  #: the socket of Rookery's own server
    #: Sessions whose panes were missing at the last look: they are gone after two.
    _missed: dict[str, frozenset[SessionId]] = field(default_factory=dict)
    #: Processes of sessions that have ended.
    _over: set[str] = field(default_factory=set)
    _locks: defaultdict[str, anyio.Lock] = field(
        default_factory=lambda: defaultdict(anyio.Lock)
    )

    async def recover(self) -> None:
        """Hold again the sessions that survived the daemon's absence; asks no tmux server."""
        for session in await self.database.read(_in_user_panes):
            process = Process.read(session.process) if session.process else None
            lives = process is not None and self._runs(process)
            await self.database.write(
                partial(self._record_recovery, session=session, lives=lives)
            )
            if lives:
                self._attach(session)

    def _record_recovery(self, db: Connection, session: Session, *, lives: bool) -> None:
        if lives:
            self.journal.append(db, SessionRecovered(session.id))
        else:
            reason = "lost while the daemon was away"
            record_end.end(db, self.journal, session.id, outcome="failed", reason=reason)

    async def run(self) -> None:
        """Follow each of the user's servers in its own task: one that hangs delays no other."""
        present: set[str] = set()
        followed: set[str] = set()
        async with anyio.create_task_group() as tasks:

            async def look_for_servers() -> None:
                now = await self._servers()
                present.clear()
                present.update(now)
                for socket in present - followed:
                    followed.add(socket)
                    tasks.start_soon(self._follow, socket, present, followed)

            name, clock = "Looking for tmux servers", self.journal.clock
            await supervise.every(
                CHECK_INTERVAL_SECONDS, look_for_servers, name=name, clock=clock
            )

    async def _servers(self) -> list[str]:
        return [str(each) for each in await anyio.to_thread.run_sync(self.sockets)]

    async def _follow(self, socket: str, present: set[str], followed: set[str]) -> None:
        await supervise.contained(partial(self._tidy, socket), name=f"Tidying up {socket}")
        clock = self.journal.clock
        looking = supervise.SupervisedStep(
            _looking_at(socket), clock, (CHECK_INTERVAL_SECONDS, CHECK_INTERVAL_SECONDS)
        )
        while socket in present:
            if await looking.attempt(partial(self.check_server, socket)):
                await clock.sleep(CHECK_INTERVAL_SECONDS)
        followed.discard(socket)

    async def _tidy(self, socket: str) -> None:
        with suppress(RuntimeFailed):
            await tidy(self.holder.server(socket))

    async def discover(self) -> None:
        """Look at all servers now."""
        async with anyio.create_task_group() as tasks:
            for socket in await self._servers():
                supervise.spawn(
                    tasks, partial(self.check_server, socket), name=_looking_at(socket)
                )

    async def check_server(self, socket: str) -> None:
        """Record what one server shows. Raises ``RuntimeFailed``, with nothing done."""
        async with self._locks[socket]:
            panes = await list_panes(self.holder.server(socket))
            recognised = await anyio.to_thread.run_sync(self._recognise, panes)
            live = await self.database.read(sessions.live)
            # A hook may have registered an agent again after its record had ended.
            over = self._over.difference(each.process for each in live)
            agents = [each for each in recognised if each.program.process.key not in over]
            gone = self._find_gone(socket, live, panes, agents)
            if changes := [*gone, *changes_of(live, agents)]:
                await self.database.write(partial(self._record_changes, changes=changes))
                live = await self.database.read(sessions.live)
            self._attach_all(socket, live)

    def _recognise(self, panes: Sequence[ListedPane]) -> list[AgentInPane]:
        programs = {run_as(agent): agent.name for agent in self.agents.values()}
        programs_found = ((pane, find_agent(self.table, pane.pid, programs)) for pane in panes)
        return [self._describe(pane, agent) for pane, agent in programs_found if agent]

    def _describe(self, pane: ListedPane, program: FoundProgram) -> AgentInPane:
        pid = program.process.pid
        folder = real_folder(self.table.folder(pid) or pane.cwd)
        return AgentInPane(program, pane, folder, self.table.began(pid))

    def _find_gone(
        self,
        socket: str,
        live: Iterable[Session],
        panes: Iterable[ListedPane],
        agents: Iterable[AgentInPane],
    ) -> list[AgentGone]:
        """Return the sessions that ended, or whose pane is missing for the second time."""
        on_server = [each for each in live if each.tmux_server == socket]
        ended = {
            each.id
            for each in on_server
            if each.process and not self._runs(Process.read(each.process))
        }
        present = {each.pane for each in panes}
        with_agent = {each.pane.pane for each in agents}
        missed = frozenset(
            each.id
            for each in on_server
            if each.tmux_pane not in (present if each.process else with_agent)
        )
        lost = missed & self._missed.get(socket, frozenset())
        self._missed[socket] = missed
        return [
            *(AgentGone(each, PROGRAM_ENDED) for each in sorted(ended)),
            *(AgentGone(each, PANE_GONE) for each in sorted(lost - ended)),
        ]

    def _record_changes(self, db: Connection, changes: Iterable[Change]) -> None:
        for change in changes:
            match change:
                case NewAgent(agent):
                    self._add_session(db, agent)
                case PaneAssigned(session, agent):
                    observed_panes.assign_pane(db, session, agent.address)
                    observed_panes.identify(db, session, agent.program.process.key)
                    self._label(db, session, agent.pane.window_name)
                case LabelChanged(session, label):
                    self._label(db, session, label)
                case AgentGone(session, reason):
                    record_end.end(
                        db, self.journal, session, outcome="completed", reason=reason
                    )
                case _:
                    assert_never(change)

    def _add_session(self, db: Connection, agent: AgentInPane) -> None:
        """Add a session for an agent, unless a hook or a file has just done so."""
        processes = agent.program.process_keys
        if any(session_bindings.holder_of_process(db, each) for each in processes):
            return
        if any(observed_panes.has_ended(db, each) for each in processes):
            self._over.add(agent.program.process.key)
            return
        arrival = Arrival(
            agent=agent.program.agent,
            native_id=_make_native_id(db, agent),
            folder=agent.folder,
            origin="discovery",
            process=agent.program.process.key,
            label=agent.pane.window_name,
        )
        session = adopt.adopt_session(db, self.journal, arrival)
        observed_panes.assign_pane(db, session, agent.address)
        self.journal.append(db, SessionFound(session))

    def _label(self, db: Connection, session: SessionId, label: str) -> None:
        if label and sessions.get(db, session).label != label:
            self.journal.append(db, SessionLabelled(session, label))

    def _attach_all(self, socket: str, live: Iterable[Session]) -> None:
        """Attach the live sessions on this server, and detach ended ones."""
        live_by_id = {each.id: each for each in live}
        for session in self.holder.held() - live_by_id.keys():
            self.holder.detach(session)
        for each in live_by_id.values():
            if each.tmux_server == socket:
                self._attach(each)

    def _attach(self, session: Session) -> None:
        agent = self.agents.get(session.agent)
        if agent and session.process and session.tmux_server and session.tmux_pane:
            self.holder.attach(
                session.id,
                agent,
                server=session.tmux_server,
                pane=session.tmux_pane,
                process=session.process,
            )

    def _runs(self, process: Process) -> bool:
        running = self.table.look(process.pid)
        return running is not None and running.process == process

    async def list_all(self) -> list[ListedPane]:
        """List the panes of the user's servers and of Rookery's own, as far as they answer."""
        own_socket = str(self.own)
        sockets = [*await self._servers(), own_socket]
        listed: dict[str, list[ListedPane]] = {}

        async def ask(socket: str) -> None:
            with suppress(RuntimeFailed):
                listed[socket] = await list_panes(self.holder.server(socket))

        with anyio.move_on_after(COMMAND_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                for socket in sockets:
                    tasks.start_soon(ask, socket)
        panes = (pane for socket in sockets for pane in listed.get(socket, ()))
        return [each for each in panes if each.server != own_socket or each.session != HUB]


def _looking_at(socket: str) -> str:
    return f"Looking at the tmux server on {socket}"


def _make_native_id(db: Connection, agent: AgentInPane) -> NativeId:
    """Return a made-up native id for an agent whose own is unknown."""
    plain = NativeId(f"tmux_{agent.pane.pane}")
    if not observed_panes.is_taken(db, agent.program.agent, plain):
        return plain
    server = sha256(agent.pane.server.encode()).hexdigest()[:6]
    return NativeId(f"tmux_{server}_{agent.pane.pane}")


def _in_user_panes(db: Connection) -> list[Session]:
    return [each for each in sessions.live(db) if each.is_in_user_pane]
