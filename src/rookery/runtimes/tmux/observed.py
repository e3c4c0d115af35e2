"""Runtime for sessions in the user's own panes: read, typed into, ended only by signals."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio

from rookery import supervise
from rookery.model.errors import Occupied, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.obstacles import BlockedReason
from rookery.model.sessions import PaneRef
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import (
    Changed,
    Delivery,
    DeliveryLog,
    Exited,
    FellQuiet,
    Launch,
    Place,
    Sighting,
    StopMethod,
    Submitted,
    Vanished,
)
from rookery.processes import Process, ProcessTable, SeenProcess, descendants, send_signal
from rookery.processes.exits import ExitWatch
from rookery.runtimes.tmux import captures, inputs
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.delivery import TypedDelivery
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import ServerSite
from rookery.runtimes.tmux.terminal import PaneTerminal, press_in_turn
from rookery.runtimes.tmux.typist import Typist
from rookery.runtimes.tmux.user_servers import ForeignServer, list_panes

_log = logging.getLogger(__name__)

#: Seconds between two captures of the screens of agents that report nothing themselves.
CAPTURE_INTERVAL_SECONDS = 1.0

#: Seconds between two checks for a message that was just typed.
TYPED_INTERVAL_SECONDS = 0.1

NOT_OURS = "Rookery did not start it"

#: A task that takes a while.
Chore: TypeAlias = Callable[[], Coroutine[None, None, None]]


@dataclass(slots=True)
class ObservedPane:
    """An agent and the pane that it runs in."""

    pane: Pane
    pane_ref: PaneRef
    server: ForeignServer
    process: Process
    typist: Typist
    screen: tuple[bytes, ...] | None = None  #: the last capture
    is_restless: bool = False  #: its screen has changed, and is not quiet yet


class ObservedTerminal(PaneTerminal):
    """The terminal of an agent in the user's own pane, whose output is not streamed."""

    async def screens(self) -> AsyncIterator[tuple[str, ...]]:
        before = None
        while not self._pane.is_over:
            if (screen := await self.read()) != before:
                yield screen
                before = screen
            await self._clock.sleep(CAPTURE_INTERVAL_SECONDS)

    async def is_attached(self) -> bool:
        (panes,) = await self._server.ask(line("list-clients", "-F", "#{pane_id}"))
        return self._name.encode() in panes

    async def _require_reachable(self) -> None:
        self.typist.require_reachable()
        if (await captures.look_around(self._server, self._name)).is_synchronized:
            raise inputs.synchronized()


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
        self._seats: dict[SessionId, ObservedPane] = {}
        self._servers: dict[str, ForeignServer] = {}
        self._looking: set[ForeignServer] = set()
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()
        self._chores: asyncio.Queue[Chore] = asyncio.Queue()

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

    def hold(
        self, session: SessionId, agent: Agent, pane_ref: PaneRef, process: Process
    ) -> None:
        """Start to watch an agent in its pane, without changing either."""
        if held := self._seats.get(session):
            if (held.pane_ref, held.process) == (pane_ref, process):
                return
            self.let_go(session)
        server = self.server(pane_ref.server)
        pane = Pane(session, agent, Place("", pane_ref.pane, process.pid))
        typist = Typist(
            server,
            pane,
            self._clock,
            self._typing,
            # Quiet is measured from the Enter on, even if nothing changes at all.
            note_enter=lambda: self._note_change(seat),
            require_reachable=lambda: self._require_in_front(seat),
            look_interval_s=TYPED_INTERVAL_SECONDS,
        )
        self._seats[session] = seat = ObservedPane(pane, pane_ref, server, process, typist)
        self._watch_process(seat)
        self._ensure_capturing(seat)

    def holds(self, session: SessionId) -> bool:
        return session in self._seats

    def held(self) -> frozenset[SessionId]:
        return frozenset(self._seats)

    def let_go(self, session: SessionId) -> None:
        """Stop watching a session, which keeps running."""
        if seat := self._seats.pop(session, None):
            seat.pane.stop_watching()

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    async def find(self) -> Mapping[str, Place]:
        return {}  # discovery finds these agents

    async def start(self, launch: Launch) -> Place:
        raise RuntimeFailed("Rookery starts nothing in the user's own tmux server.")

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        raise RuntimeFailed(f"{NOT_OURS}; only discovery knows its server.")

    def check(self, session: SessionId, words: str) -> None:
        inputs.check_words(self._seat(session).pane, words)

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        seat = self._seat(parcel.recipient)
        typed = TypedDelivery(seat.typist, self._clock, seat.pane.agent.input.pause)
        delivery = await typed.deliver(parcel, log, is_new=is_new)
        if isinstance(delivery, Submitted) and delivery.is_final:
            seat.screen = None  # it may be quiet already: the next capture reports it again
        return delivery

    async def interrupt(self, session: SessionId) -> None:
        keys = self._seat(session).pane.agent.input.interrupt
        await press_in_turn(self.terminal(session), keys, self._clock)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        """Signal the agent and its descendants, and nothing else in its pane."""
        seat = self._seat(session)
        if method is StopMethod.ASK:
            raise RuntimeFailed(f"{NOT_OURS}, and does not ask it to leave.")
        number = signal.SIGKILL if method is StopMethod.KILL else signal.SIGTERM
        send_signal(seat.process, descendants(seat.process.pid), number)

    def terminal(self, session: SessionId) -> ObservedTerminal:
        seat = self._seat(session)
        return ObservedTerminal(seat.typist, partial(self._report_changes, seat))

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose program is one of these processes (``Process.word``)."""
        seats = {seat.process.word: session for session, seat in self._seats.items()}
        return next((seats[each] for each in lineage if each in seats), None)

    def _report_changes(self, seat: ObservedPane, wanted: bool, again: bool) -> None:
        if again or (wanted and not seat.pane.is_attended):
            seat.screen = None  # make the next capture report a change
        seat.pane.is_attended = wanted
        self._ensure_capturing(seat)

    async def release(self, session: SessionId) -> None:
        self.let_go(session)

    def _seat(self, session: SessionId) -> ObservedPane:
        if (seat := self._seats.get(session)) is None:
            raise RuntimeFailed(f"no pane is known for {session}.")
        return seat

    def _require_in_front(self, seat: ObservedPane) -> None:
        """Raise ``Occupied`` if keys would reach a shell instead of the agent."""
        if (seen := self._find_process(seat)) is None:
            raise inputs.program_ended()
        if not seen.is_in_front:
            raise Occupied(BlockedReason.BACKGROUND, "it was put into the background.")

    def _find_process(self, seat: ObservedPane) -> SeenProcess | None:
        seen = self._table.look(seat.process.pid)
        return seen if seen and seen.process == seat.process else None

    def _watch_process(self, seat: ObservedPane) -> None:
        def ended() -> None:
            self._chores.put_nowait(partial(self._report_exit, seat))

        def is_running(_: Process) -> bool:
            return self._find_process(seat) is not None

        seat.pane.watch = ExitWatch(seat.process, ended, is_running=is_running)

    async def _report_exit(self, seat: ObservedPane) -> None:
        """Report once that an agent has ended, and whether its pane has."""
        if seat.pane.is_over:
            return
        try:
            panes = {each.pane for each in await list_panes(seat.server)}
        except RuntimeFailed:
            panes = set()
        session = seat.pane.session
        has_pane = seat.pane_ref.pane in panes
        self.let_go(session)
        self._sightings.put_nowait(
            Exited(session, None, None, ()) if has_pane else Vanished(session)
        )

    def _ensure_capturing(self, seat: ObservedPane) -> None:
        if seat.pane.is_attended and seat.server not in self._looking:
            self._looking.add(seat.server)
            self._chores.put_nowait(partial(self._follow_screens, seat.server))

    async def _follow_screens(self, server: ForeignServer) -> None:
        """Capture the attended screens of a server until none is left."""
        try:
            while seats := [
                each
                for each in self._seats.values()
                if each.server is server and each.pane.is_attended
            ]:
                await self._capture_screens(server, *seats)
                await self._clock.sleep(CAPTURE_INTERVAL_SECONDS)
        finally:
            self._looking.discard(server)

    async def _capture_screens(self, server: ForeignServer, *seats: ObservedPane) -> None:
        shown = (line("capture-pane", "-p", "-t", each.pane_ref.pane) for each in seats)
        try:
            for seat, screen in zip(seats, await server.ask(*shown), strict=True):
                self._compare(seat, screen)
        except TmuxRefused:
            if len(seats) > 1:  # one pane is gone; capture the others one by one
                for seat in seats:
                    await self._capture_screens(server, seat)
        except RuntimeFailed as error:
            _log.debug("Screens cannot be seen now: %s", error)

    def _compare(self, seat: ObservedPane, screen: tuple[bytes, ...]) -> None:
        if seat.pane.is_over:
            return
        if screen != seat.screen:
            seat.screen = screen
            self._note_change(seat)
            self._sightings.put_nowait(Changed(seat.pane.session))
        elif (
            seat.is_restless
            and self._now() - seat.pane.last_output >= seat.pane.agent.input.quiet
        ):
            seat.is_restless = False
            self._sightings.put_nowait(FellQuiet(seat.pane.session))

    def _note_change(self, seat: ObservedPane) -> None:
        seat.is_restless = True
        seat.pane.last_output = self._now()
        seat.pane.stir()

    def _now(self) -> float:
        return self._clock.now().timestamp()
