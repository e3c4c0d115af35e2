"""Runtime for sessions in the user's own panes: read, typed into, ended only by signals."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio

from rookery import supervise
from rookery.model.errors import Occupied, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.obstacles import BlockedReason
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Delivery, DeliveryLog, LeftInput, Submitted
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import Exited, Sighting, Vanished
from rookery.processes import Process, ProcessTable, SeenProcess, descendants, send_signal
from rookery.processes.exit_watch import ExitWatch
from rookery.runtimes.tmux import safe_input
from rookery.runtimes.tmux.delivery_steps import TypedDelivery
from rookery.runtimes.tmux.observed_screens import (
    ObservedPane,
    ObservedTerminal,
    ScreenCaptures,
)
from rookery.runtimes.tmux.panes import Chore, Pane
from rookery.runtimes.tmux.places import Place, UserPlace
from rookery.runtimes.tmux.server import ServerSite
from rookery.runtimes.tmux.terminal import press_in_turn
from rookery.runtimes.tmux.typist import Typist
from rookery.runtimes.tmux.user_servers import ForeignServer, list_panes

#: Seconds between two checks for a message that was just typed.
TYPED_INTERVAL_SECONDS = 0.1

NOT_OURS = "Rookery did not start it"

_IN_BACKGROUND = "it is in the background of its shell; type `fg` in its pane."


class ObservedRuntime:
    def __init__(
        self, tmux: str, folder: Path, clock: Clock, table: ProcessTable, *, typing: float
    ) -> None:
        """``folder`` must be private; it holds files with message text."""
        self._tmux = tmux
        self._folder = folder
        self._clock = clock
        self._table = table
        self._typing = typing
        self._panes: dict[SessionId, ObservedPane] = {}
        self._servers: dict[str, ForeignServer] = {}
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()
        self._chores: asyncio.Queue[Chore] = asyncio.Queue()
        self._captures = ScreenCaptures(self._panes, clock, self._sightings, self._chores)

    def server(self, socket: str) -> ForeignServer:
        """Return the client for the server on a socket."""
        if socket not in self._servers:
            site = ServerSite(self._tmux, Path(socket), self._folder, lines=0)
            self._servers[socket] = ForeignServer(site)
        return self._servers[socket]

    async def keep(self) -> None:
        """Run the queued tasks, such as screen captures and exit reports. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            while True:
                supervise.spawn(tasks, await self._chores.get(), name="A task for tmux")

    def attach(
        self, session: SessionId, agent: Agent, *, server: str, pane: str, process: str
    ) -> None:
        """Start to watch an agent in a pane that discovery found, without changing either."""
        self._hold(session, agent, UserPlace(server, pane, process))

    def _hold(self, session: SessionId, agent: Agent, place: UserPlace) -> None:
        if held := self._panes.get(session):
            if held.place == place:
                return
            self.detach(session)
        server, process = self.server(place.server), Process.read(place.process)
        pane = Pane(session, agent, Place("", place.pane, process.pid))
        typist = Typist(
            server,
            pane,
            self._clock,
            self._typing,
            # Quiet is measured from the Enter on, even if nothing changes at all.
            note_enter=lambda: self._captures.note_change(observed),
            require_reachable=lambda: self._require_in_front(observed),
            look_interval_s=TYPED_INTERVAL_SECONDS,
        )
        self._panes[session] = observed = ObservedPane(pane, place, server, process, typist)
        self._watch_process(observed)
        self._captures.ensure_capturing(observed)

    def holds(self, session: SessionId) -> bool:
        return session in self._panes

    def held(self) -> frozenset[SessionId]:
        return frozenset(self._panes)

    def detach(self, session: SessionId) -> None:
        """Stop watching a session, which keeps running."""
        if observed := self._panes.pop(session, None):
            observed.pane.stop_watching()

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    async def find(self) -> Mapping[str, HeldProgram]:
        return {}  # discovery finds these agents

    async def start(self, launch: Launch) -> HeldProgram:
        raise RuntimeFailed("Rookery starts nothing in the user's own tmux server.")

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        if isinstance(program, SurvivingProcess):
            raise RuntimeFailed(f"{NOT_OURS}; only discovery knows its pane.")
        self._hold(session, agent, UserPlace.read(program))
        if self._find_process(self._panes[session]) is None:
            raise RuntimeFailed("its program is gone.")

    def check(self, session: SessionId, words: str) -> None:
        safe_input.check_words(self._observed(session).pane, words)

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        observed = self._observed(parcel.recipient)
        typed = TypedDelivery(observed.typist, self._clock, observed.pane.agent.input.pause)
        delivery = await typed.deliver(parcel, log, is_new=is_new)
        is_final = isinstance(delivery, Submitted) and delivery.is_final
        if is_final or isinstance(delivery, LeftInput):
            observed.screen = None  # it may be quiet already: the next capture reports it again
        return delivery

    async def interrupt(self, session: SessionId) -> None:
        keys = self._observed(session).pane.agent.input.interrupt
        await press_in_turn(self.terminal(session), keys, self._clock)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        """Signal the agent and its descendants, and nothing else in its pane."""
        observed = self._observed(session)
        if method is StopMethod.ASK:
            raise RuntimeFailed(f"{NOT_OURS}, and does not ask it to leave.")
        number = signal.SIGKILL if method is StopMethod.KILL else signal.SIGTERM
        send_signal(observed.process, descendants(observed.process.pid), number)

    def terminal(self, session: SessionId) -> ObservedTerminal:
        observed = self._observed(session)
        return ObservedTerminal(observed.typist, partial(self._report_changes, observed))

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose program is one of these processes (``Process.key``)."""
        processes = {pane.process.key: session for session, pane in self._panes.items()}
        return next((processes[each] for each in lineage if each in processes), None)

    def _report_changes(self, observed: ObservedPane, wanted: bool, again: bool) -> None:
        if again or (wanted and not observed.pane.is_attended):
            observed.screen = None  # make the next capture report a change
        observed.pane.is_attended = wanted
        self._captures.ensure_capturing(observed)

    async def release(self, session: SessionId) -> None:
        self.detach(session)

    def _observed(self, session: SessionId) -> ObservedPane:
        if (observed := self._panes.get(session)) is None:
            raise RuntimeFailed(f"no pane is known for {session}.")
        return observed

    def _require_in_front(self, observed: ObservedPane) -> None:
        """Raise ``Occupied`` if keys would reach a shell instead of the agent."""
        if (process := self._find_process(observed)) is None:
            raise safe_input.program_ended()
        if not process.is_in_front:
            raise Occupied(BlockedReason.BACKGROUND, _IN_BACKGROUND)

    def _find_process(self, observed: ObservedPane) -> SeenProcess | None:
        process = self._table.look(observed.process.pid)
        return process if process and process.process == observed.process else None

    def _watch_process(self, observed: ObservedPane) -> None:
        def ended() -> None:
            self._chores.put_nowait(partial(self._report_exit, observed))

        def is_running(_: Process) -> bool:
            return self._find_process(observed) is not None

        observed.pane.watch = ExitWatch(observed.process, ended, is_running=is_running)

    async def _report_exit(self, observed: ObservedPane) -> None:
        """Report once that an agent has ended, and whether its pane has."""
        if observed.pane.is_over:
            return
        try:
            panes = {each.pane for each in await list_panes(observed.server)}
        except RuntimeFailed:
            panes = set()
        session = observed.pane.session
        has_pane = observed.place.pane in panes
        self.detach(session)
        self._sightings.put_nowait(
            Exited(session, None, None, ()) if has_pane else Vanished(session)
        )
