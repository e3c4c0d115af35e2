"""Sessions in panes of the user's own: read and written to, and ended by force only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import psutil

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.screens import Press, View
from rookery.model.sessions import Spot
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import (
    Changed,
    Exited,
    FellQuiet,
    Launch,
    Place,
    Printed,
    Sight,
    Sighting,
    Vanished,
)
from rookery.processes import Process, Seen, Table
from rookery.runtimes.tmux import captures, dialog_keys, exits, inputs
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.foreign import ForeignServer, list_panes
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import Site
from rookery.runtimes.tmux.typist import Typist

_log = logging.getLogger(__name__)

#: Seconds between two looks at the screens of those that tell nothing themselves.
LOOK = 1.0

#: Seconds between two looks for words that were just typed.
GLANCE = 0.1

#: Seconds between looks at a process that cannot be watched, as on systems but Linux.
LOOK_AGAIN = 0.5

NOT_OURS = "Rookery did not start it"

#: Something that takes a while.
Chore: TypeAlias = Callable[[], Coroutine[None, None, None]]


@dataclass(slots=True)
class Seat:
    """An agent, and the pane that it sits in."""

    pane: Pane
    spot: Spot
    server: ForeignServer
    process: Process
    typist: Typist
    screen: tuple[bytes, ...] | None = None  #: as last seen
    is_restless: bool = False  #: its screen has changed, and is not quiet yet


class ObservedRuntime:
    def __init__(
        self, tmux: str, folder: Path, clock: Clock, table: Table, *, typing: float
    ) -> None:
        """``folder`` is for files that carry words; private."""
        self._tmux = tmux
        self._folder = folder
        self._clock = clock
        self._table = table
        self._typing = typing
        self._seats: dict[SessionId, Seat] = {}
        self._servers: dict[str, ForeignServer] = {}
        self._looking: set[ForeignServer] = set()
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()
        self._chores: asyncio.Queue[Chore] = asyncio.Queue()

    def server(self, socket: str) -> ForeignServer:
        """Return what asks the server on a socket."""
        if socket not in self._servers:
            site = Site(self._tmux, Path(socket), self._folder, lines=0)
            self._servers[socket] = ForeignServer(site)
        return self._servers[socket]

    async def keep(self) -> None:
        """Look at screens, and see off whoever ends. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            while True:
                supervise.spawn(tasks, await self._chores.get(), name="A task for tmux")

    def hold(self, session: SessionId, agent: Agent, spot: Spot, process: Process) -> None:
        """Watch over an agent in its pane; nothing is done to either."""
        if held := self._seats.get(session):
            if (held.spot, held.process) == (spot, process):
                return
            self.let_go(session)
        server = self.server(spot.server)
        pane = Pane(session, agent, Place("", spot.pane, process.pid), ring_size=0)
        typist = Typist(server, self._clock, self._typing)
        self._seats[session] = seat = Seat(pane, spot, server, process, typist)
        self._watch_over(seat)
        self._look_on(seat)

    def holds(self, session: SessionId) -> bool:
        return session in self._seats

    def held(self) -> frozenset[SessionId]:
        return frozenset(self._seats)

    def let_go(self, session: SessionId) -> None:
        """Watch over a session no more; it goes on by itself."""
        if seat := self._seats.pop(session, None):
            seat.pane.is_over = True
            if seat.pane.watching is not None:
                exits.unwatch(seat.pane.watching)
                seat.pane.watching = None

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    def see_again(self, sighting: Sighting) -> None:
        match sighting:
            case Changed(session) | FellQuiet(session):
                if seat := self._seats.get(session):
                    seat.screen = None  # the next look will be as the first
            case _:
                self._sightings.put_nowait(sighting)

    async def find(self) -> Mapping[str, Place]:
        return {}  # what there is to find, discovery finds

    async def start(self, launch: Launch) -> Place:
        raise RuntimeFailed("nothing is started in a tmux server of the user's own.")

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        raise RuntimeFailed(f"{NOT_OURS}; only discovery knows its server.")

    async def paste(self, parcel: Parcel) -> None:
        seat = self._seat(parcel.recipient)
        self._require_in_front(seat)
        await seat.typist.paste(seat.pane, parcel)

    async def submit(self, parcel: Parcel) -> None:
        seat = self._seat(parcel.recipient)
        self._require_in_front(seat)
        await seat.typist.submit(seat.pane, parcel)
        # It is quiet only when it has been so since then, also if nothing changes at all.
        self._note_change(seat)

    async def clear(self, parcel: Parcel) -> bool:
        seat = self._seat(parcel.recipient)
        self._require_in_front(seat)
        # Nothing stirs the panes of another server, so the box is looked at once more.
        cleared = await seat.typist.clear(seat.pane, parcel)
        return cleared or (await seat.typist.view(seat.pane)).box == ""

    async def look(self, parcel: Parcel) -> Sight:
        seat = self._seat(parcel.recipient)
        return await seat.typist.look(seat.pane, parcel)

    async def shown(self, parcel: Parcel, *, within: float) -> bool:
        self._seat(parcel.recipient)
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while await self.look(parcel) is not Sight.BOX:
                    await self._clock.sleep(GLANCE)
                return True
        return False

    def check(self, session: SessionId, words: str) -> None:
        inputs.check_words(self._seat(session).pane, words)

    def next_change(self, session: SessionId) -> asyncio.Event:
        return self._seat(session).pane.next_stir()

    def attend(self, session: SessionId, *, to_screen: bool) -> None:
        if seat := self._seats.get(session):
            seat.pane.is_attended = to_screen
            self._look_on(seat)

    async def press(self, session: SessionId, *keys: str) -> None:
        seat = self._seat(session)
        async with seat.pane.lock:
            self._require_in_front(seat)
            if (await captures.look_around(seat.server, seat.spot.pane)).is_synchronized:
                raise inputs.occupied(inputs.SYNCHRONIZED)
            await inputs.press(seat.server, seat.spot.pane, *keys)

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        seat = self._seat(session)
        async with seat.pane.lock:
            self._require_in_front(seat)
            if (await captures.look_around(seat.server, seat.spot.pane)).is_synchronized:
                raise inputs.occupied(inputs.SYNCHRONIZED)
            await dialog_keys.give(seat.server, seat.spot.pane, press, receipt=receipt)

    async def given(self, session: SessionId) -> str:
        seat = self._seat(session)
        return await dialog_keys.receipt_of(seat.server, seat.spot.pane)

    def check_keys(self, *keys: str) -> None:
        inputs.check_keys(*keys)

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        seats = {seat.process.word: session for session, seat in self._seats.items()}
        return next((seats[each] for each in lineage if each in seats), None)

    async def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        seat, before = self._seat(session), None
        while not seat.pane.is_over:
            if (screen := await self.read(session)) != before:
                yield screen
                before = screen
            await self._clock.sleep(LOOK)

    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        seat = self._seat(session)
        return await captures.read_screen(seat.server, seat.spot.pane, history=history)

    async def view(self, session: SessionId) -> View:
        seat = self._seat(session)
        return await seat.typist.view(seat.pane)

    async def printed(self, session: SessionId) -> Printed:
        seat = self._seat(session)
        return await seat.typist.printed(seat.pane)

    async def is_attached(self, session: SessionId) -> bool:
        seat = self._seat(session)
        (panes,) = await seat.server.ask(line("list-clients", "-F", "#{pane_id}"))
        return seat.spot.pane.encode() in panes

    async def quit(self, session: SessionId) -> None:
        self._seat(session)
        raise RuntimeFailed(f"{NOT_OURS}, and does not ask it to leave.")

    async def signal(self, session: SessionId, number: int) -> None:
        """Send a signal to the agent and what it started; to nothing else in its pane."""
        seat = self._seat(session)
        if self._see(seat) is None:
            return
        with suppress(psutil.NoSuchProcess):
            agent = psutil.Process(seat.process.pid)
            for each in (agent, *agent.children(recursive=True)):
                with suppress(psutil.Error):
                    each.send_signal(number)

    async def release(self, session: SessionId) -> None:
        self.let_go(session)

    def _seat(self, session: SessionId) -> Seat:
        if (seat := self._seats.get(session)) is None:
            raise RuntimeFailed(f"nothing is held for {session}.")
        return seat

    def _require_in_front(self, seat: Seat) -> None:
        """Raise ``Occupied`` if keys would reach a shell instead of the agent."""
        if (seen := self._see(seat)) is None:
            raise inputs.occupied("its program has ended")
        if not seen.is_in_front:
            raise inputs.occupied("it was put into the background")

    def _see(self, seat: Seat) -> Seen | None:
        seen = self._table.look(seat.process.pid)
        return seen if seen and seen.process == seat.process else None

    def _watch_over(self, seat: Seat) -> None:
        pane = seat.pane

        def ended() -> None:
            if pane.watching is not None:
                exits.unwatch(pane.watching)
                pane.watching = None
            self._chores.put_nowait(partial(self._see_off, seat))

        if pane.is_over:
            return
        pane.watching = exits.watch_process(seat.process.pid, ended)
        if self._see(seat) is None:
            ended()
        elif pane.watching is None:
            asyncio.get_running_loop().call_later(LOOK_AGAIN, self._watch_over, seat)

    async def _see_off(self, seat: Seat) -> None:
        """Say once that an agent has ended, and whether its pane has."""
        if seat.pane.is_over:
            return
        try:
            panes = {each.pane for each in await list_panes(seat.server)}
        except RuntimeFailed:
            panes = set()
        session = seat.pane.session
        has_pane = seat.spot.pane in panes
        self.let_go(session)
        self._sightings.put_nowait(
            Exited(session, None, None, ()) if has_pane else Vanished(session)
        )

    def _look_on(self, seat: Seat) -> None:
        if seat.pane.is_attended and seat.server not in self._looking:
            self._looking.add(seat.server)
            self._chores.put_nowait(partial(self._follow_screens, seat.server))

    async def _follow_screens(self, server: ForeignServer) -> None:
        """Look at the screens of a server that are wanted, for as long as any is."""
        try:
            while seats := [
                each
                for each in self._seats.values()
                if each.server is server and each.pane.is_attended
            ]:
                await self._look_at(server, *seats)
                await self._clock.sleep(LOOK)
        finally:
            self._looking.discard(server)

    async def _look_at(self, server: ForeignServer, *seats: Seat) -> None:
        shown = (line("capture-pane", "-p", "-t", each.spot.pane) for each in seats)
        try:
            for seat, screen in zip(seats, await server.ask(*shown), strict=True):
                self._compare(seat, screen)
        except TmuxRefused:
            if len(seats) > 1:  # one of the panes is gone; that is no reason to miss the others
                for seat in seats:
                    await self._look_at(server, seat)
        except RuntimeFailed as error:
            _log.debug("Screens cannot be seen now: %s", error)

    def _compare(self, seat: Seat, screen: tuple[bytes, ...]) -> None:
        if seat.pane.is_over:
            return
        if screen != seat.screen:
            seat.screen = screen
            self._note_change(seat)
            self._sightings.put_nowait(Changed(seat.pane.session))
        elif seat.is_restless and self._now() - seat.pane.last_output >= seat.pane.agent.quiet:
            seat.is_restless = False
            self._sightings.put_nowait(FellQuiet(seat.pane.session))

    def _note_change(self, seat: Seat) -> None:
        seat.is_restless = True
        seat.pane.last_output = self._now()
        seat.pane.stir()

    def _now(self) -> float:
        return self._clock.now().timestamp()
