"""Runtime for sessions in panes of Rookery's own tmux server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import resources
from pathlib import Path

import anyio

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import (
    Blocked,
    Delivery,
    DeliveryLog,
    LeftInput,
    Submitted,
    Unknown,
)
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import Exited, Sighting, Vanished
from rookery.processes import Process, descendants, in_session, is_running, send_signal
from rookery.processes.exit_watch import ExitWatch
from rookery.runtimes.tmux import captures, exit_status, listing, safe_input, sizes
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.delivery_steps import TypedDelivery
from rookery.runtimes.tmux.output_activity import PaneActivity
from rookery.runtimes.tmux.panes import Chore, Pane
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import Event, Notice, Output, Paused, line
from rookery.runtimes.tmux.server import Server, ServerSite
from rookery.runtimes.tmux.server_options import SIZE
from rookery.runtimes.tmux.suspended import SuspendedPrograms
from rookery.runtimes.tmux.terminal import PaneTerminal, press_in_turn
from rookery.runtimes.tmux.typist import Typist

#: Seconds between the two checks after which a pane counts as gone.
SECOND_CHECK_SECONDS = 0.3

#: Seconds before a retry after the control line was not connected.
LINE_PAUSE_S = 0.1

_NO_PANE = Obstacle(
    BlockedReason.NO_PANE, "its pane is gone. End it, then resume its conversation."
)

#: The window of a pane, and the exit status or the signal with which its program ended.
_WINDOW = "x#{window_id} #{pane_dead_status}#{pane_dead_signal}"


class TmuxRuntime:
    def __init__(
        self,
        site: ServerSite,
        clock: Clock,
        *,
        typing: float,
        server: type[Server] = Server,
    ) -> None:
        self._clock = clock
        self._panes: dict[SessionId, Pane] = {}
        self._by_pane: dict[str, Pane] = {}
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()
        self._chores: asyncio.Queue[Chore] = asyncio.Queue()
        self._looks_for_cut_off = False
        self.server = server(site, clock, hear=self._hear, on_connect=self._relink_panes)
        self._typing = typing
        suspended = SuspendedPrograms(self.server, clock, self._sightings, self._chores)
        self._activity = PaneActivity(
            self._panes, self.server, clock, self._sightings, self._chores, suspended
        )

    async def keep(self) -> None:
        """Stay connected to tmux, and run the tasks that its events cause. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.server.keep)
            while True:
                supervise.spawn(tasks, await self._chores.get(), name="A task for tmux")

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    async def find(self) -> Mapping[str, HeldProgram]:
        return {name: place.program for name, place in (await self._places()).items()}

    async def _places(self) -> Mapping[str, Place]:
        return listing.places(await listing.list_rows(self.server))

    async def start(self, launch: Launch) -> HeldProgram:
        name = program_name(launch.session)
        place = (await self._places()).get(name) or await self._make(launch, name)
        await self._hold(launch.session, launch.agent, place)
        return place.program

    async def _make(self, launch: Launch, name: str) -> Place:
        file = self._write(launch)
        program = resources.files("rookery.programs") / "launch.py"
        width, height = SIZE.split("x")
        words = (sys.executable, "-I", "-S", str(program), str(file))
        print_format = ("-P", "-F", "#{pane_id} #{pane_pid}")
        size = ("-x", width, "-y", height)
        new_session = line("new-session", "-d", *print_format, "-s", name, *size, *words)
        ((answer,), *_) = await self.server.ask(new_session, *listing.mark_new(name))
        pane, pid = answer.decode().split(" ")
        return Place(name, pane, int(pid))

    def _write(self, launch: Launch) -> Path:
        file = self._launch_file(launch.session)
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", errors="surrogateescape") as private:
            environment = dict(launch.environment)
            launch_file = {"argv": launch.argv, "environment": environment}
            json.dump({**launch_file, "folder": str(launch.folder)}, private)
        return file

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        if isinstance(program, SurvivingProcess):
            place = Place("", "", Process.read(program.process).pid)
        elif not (place := Place.read(program)).pid:
            place = (await self._places()).get(place.name, place)
        await self._hold(session, agent, place)

    def holds(self, session: SessionId) -> bool:
        return session in self._panes

    async def _hold(self, session: SessionId, agent: Agent, place: Place) -> None:
        if session in self._panes:
            return
        server = self.server.process if place.pane else None
        pane = self._panes[session] = Pane(session, agent, place, server=server)
        # Quiet is measured from now on: a turn may have begun just before.
        pane.last_output = pane.last_line = asyncio.get_running_loop().time()
        self._watch_process(pane)  # before steps that may fail: its end is noticed regardless
        if not place.pane:
            return  # its terminal is gone, and only its process is left
        self._by_pane[place.pane] = pane
        await self._link(pane)
        self._activity.note(pane)

    def check(self, session: SessionId, words: str) -> None:
        safe_input.check_words(self._pane(session), words)

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        pane = self._held_pane(parcel.recipient)
        if self._has_lost(pane):
            return Blocked(_NO_PANE) if parcel.step is Step.SENDING else Unknown()
        typed = TypedDelivery(self.typist(pane.session), self._clock, pane.agent.input.pause)
        delivery = await typed.deliver(parcel, log, is_new=is_new)
        is_final = isinstance(delivery, Submitted) and delivery.is_final
        if is_final or isinstance(delivery, LeftInput):
            # It may have become quiet before this turn was known.
            self._activity.note_later(pane)
        return delivery

    async def interrupt(self, session: SessionId) -> None:
        keys = self._pane(session).agent.input.interrupt
        await press_in_turn(self.terminal(session), keys, self._clock)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        match method:
            case StopMethod.ASK if self._held_pane(session).agent.input.quit:
                await self.typist(session).quit()
            case StopMethod.ASK:
                await self._signal(session, signal.SIGHUP)  # as if its terminal was closed
            case StopMethod.TERMINATE:
                await self._signal(session, signal.SIGTERM)
            case StopMethod.KILL:
                await self._signal(session, signal.SIGKILL)

    def terminal(self, session: SessionId) -> PaneTerminal:
        pane = self._pane(session)
        return PaneTerminal(self.typist(pane.session), partial(self._report_changes, pane))

    def typist(self, session: SessionId) -> Typist:
        """Return the typist for a session's pane."""
        pane = self._pane(session)

        def note_enter() -> None:
            # Quiet is measured from the Enter on, even if the program prints nothing.
            pane.last_output = pane.last_line = asyncio.get_running_loop().time()
            self._activity.note(pane)

        return Typist(self.server, pane, self._clock, self._typing, note_enter)

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose program is one of these processes (``Process.key``)."""
        panes = {
            pane.process.key: pane.session for pane in self._panes.values() if pane.process
        }
        return next((panes[each] for each in lineage if each in panes), None)

    async def _signal(self, session: SessionId, number: int) -> None:
        """Send a signal to the program and to all its descendants."""
        if program := self._held_pane(session).process:
            # In a thread: it reads the whole process table.
            await asyncio.to_thread(_signal_family, program, number)

    def _report_changes(self, pane: Pane, wanted: bool, again: bool) -> None:
        pane.is_attended = wanted
        if again:
            self._activity.note_later(pane)

    async def release(self, session: SessionId) -> None:
        pane = self._panes.get(session)
        place = pane.place if pane else (await self._places()).get(program_name(session))
        if place and place.pane:
            with suppress(TmuxRefused):  # the pane is gone already
                await self.server.ask(listing.kill(place))
        if pane:
            self._forget(pane)
        self._launch_file(session).unlink(missing_ok=True)

    async def retire(self) -> None:
        """End the tmux server if only its hub is left: it would run for ever."""
        try:
            rows = await listing.list_rows(self.server)
        except RuntimeFailed:
            return  # unknown: it may hold agents
        if listing.is_empty(rows):
            await self.server.end()

    def _launch_file(self, session: SessionId) -> Path:
        return self.server.site.folder / f"launch-{session}"

    def _held_pane(self, session: SessionId) -> Pane:
        if (pane := self._panes.get(session)) is None:
            raise RuntimeFailed(f"no pane is known for {session}.")
        return pane

    def _pane(self, session: SessionId) -> Pane:
        pane = self._held_pane(session)
        if self._has_lost(pane):
            raise RuntimeFailed(f"the tmux server that held {session} is gone.")
        return pane

    def _has_lost(self, pane: Pane) -> bool:
        """Return whether the pane of a program is gone, with its tmux server."""
        # A new tmux server counts pane ids from the start: the id belongs to another pane.
        return not pane.place.pane or pane.server != self.server.process

    async def _link(self, pane: Pane) -> None:
        """Link the pane's window into the hub: only windows there stream their output."""
        hub = self.server.hub
        shown = line("list-windows", "-t", hub, "-F", "#{window_id}")
        place = pane.place.pane
        own = line("display-message", "-p", "-t", place, _WINDOW)
        marked = listing.mark(place, pane.place.name)
        windows, (answer, *_), *_ = await self.server.ask(shown, own, *marked)
        window, how_it_ended = answer.removeprefix(b"x").split(b" ")
        if not window:  # tmux answers this for an unknown pane
            raise RuntimeFailed("the pane is gone.")
        if how_it_ended:
            self._note_death(pane)
        if window not in windows:
            source = window.decode()
            await self.server.ask(line("link-window", "-d", "-s", source, "-t", f"{hub}:"))
        pane.window = window.decode()

    def _watch_process(self, pane: Pane) -> None:
        def ended() -> None:
            self._chores.put_nowait(partial(self._report_exit, pane))

        if pane.process:
            pane.watch = ExitWatch(pane.process, ended)
        else:
            ended()

    def _note_death(self, pane: Pane) -> None:
        """Forget the process of a dead pane: another one may have its pid by now.

        The status of a pane is set once tmux has reaped its program. A pane may be dead before:
        its program may have closed the terminal and still run.
        """
        pane.process = None
        if pane.watch:
            pane.watch.cancel()
            pane.watch = None
        self._chores.put_nowait(partial(self._report_exit, pane))

    async def _report_exit(self, pane: Pane) -> None:
        """Determine how a pane's program ended, and report it once."""
        how: tuple[int | None, int | None] | None = None
        screen: tuple[str, ...] = ()
        while not pane.is_over and not self._is_server_dead(pane):
            try:
                how = await exit_status.exit_of(self.server, pane.place, self._clock)
                if how is None and not await self._is_gone(pane):
                    continue
                # tmux wipes a dead pane's screen: its content is in the scrollback.
                screen = () if how is None else await self._last_screen(pane)
                break
            except RuntimeFailed:
                await self._clock.sleep(LINE_PAUSE_S)  # tmux is unreachable: ask again
        if pane.is_over:
            return
        pane.is_over = True
        vanished = Vanished(pane.session)
        self._sightings.put_nowait(Exited(pane.session, *how, screen) if how else vanished)

    async def _last_screen(self, pane: Pane) -> tuple[str, ...]:
        return await captures.read_screen(self.server, pane.place.pane, history=True)

    def _is_server_dead(self, pane: Pane) -> bool:
        """Return whether the tmux server that held the pane is dead and cannot be asked."""
        return pane.server is not None and not is_running(pane.server)

    async def _is_gone(self, pane: Pane) -> bool:
        for _ in range(2):
            if listing.is_there(await listing.list_rows(self.server), pane.place):
                return False
            await self._clock.sleep(SECOND_CHECK_SECONDS)
        return True

    async def _kill_cut_off_panes(self) -> None:
        """Complete a ``kill-session``: the link to the hub would keep the window alive."""
        self._looks_for_cut_off = False  # before the check: later changes need another
        with suppress(RuntimeFailed):  # disconnected: after a reconnect all panes are checked
            if await self._cut_off_panes():
                await self._clock.sleep(SECOND_CHECK_SECONDS)
                for pane in await self._cut_off_panes():
                    await self.server.ask(listing.kill(pane.place))

    async def _cut_off_panes(self) -> list[Pane]:
        rows = await listing.list_rows(self.server)
        live = [pane for pane in self._panes.values() if not pane.is_over]
        return [pane for pane in live if listing.is_cut_off(rows, pane.place, pane.window)]

    async def _relink_panes(self) -> None:
        """After a reconnect, link every pane again, and find the panes that are gone.

        A program that outlived its tmux server has not ended: the watch on its process reports
        that.
        """
        rows = await listing.list_rows(self.server)
        for pane in [each for each in self._panes.values() if not each.is_over]:
            if listing.is_there(rows, pane.place):
                await self._link(pane)
                self._activity.note(pane)
            elif pane.process is None or not is_running(pane.process):
                self._chores.put_nowait(partial(self._report_exit, pane))

    def _hear(self, event: Event) -> None:
        match event:
            case Output(name, payload) if pane := self._by_pane.get(name):
                now = asyncio.get_running_loop().time()
                pane.take(payload, now)
                self._activity.note(pane)
                if pane.meter.overflows(len(payload), now):
                    pane.meter.is_muted = True
                    self._chores.put_nowait(partial(self._activity.mute_flood, pane))
            case Paused(name) if pane := self._by_pane.get(name):
                if not pane.meter.is_muted:
                    self._chores.put_nowait(partial(self._activity.resume, pane))
            case Notice("client-detached" | "client-session-changed", _):
                self._chores.put_nowait(partial(sizes.restore, self.server))
            case Notice("sessions-changed", _) if not self._looks_for_cut_off:
                self._looks_for_cut_off = True
                self._chores.put_nowait(self._kill_cut_off_panes)
            case _:
                pass

    def _forget(self, pane: Pane) -> None:
        pane.stop_watching()
        self._panes.pop(pane.session, None)
        if self._by_pane.get(pane.place.pane) is pane:
            del self._by_pane[pane.place.pane]


def _signal_family(program: Process, number: int) -> None:
    """Send a signal to a pane's program and all that it started, also in the background."""
    # A pane's program leads a terminal session: every process in it belongs to the program.
    others = (*descendants(program.pid), *in_session(program.pid))
    send_signal(program, others, number)
