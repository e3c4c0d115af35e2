"""The terminal of a session in a tmux pane, Rookery's or the user's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from rookery.model.screens import Press, View
from rookery.ports.clock import Clock
from rookery.ports.terminal import Printed, Terminal
from rookery.processes import terminal_jobs
from rookery.runtimes.tmux import captures, dialog_keys, safe_input, scrollback
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer
from rookery.runtimes.tmux.typist import Typist

#: Seconds between two frames of a live view.
FRAME_INTERVAL_S = 0.05

#: Seconds between two keys that interrupt a turn. A busy program that reads both at once takes
#: them for one; OpenCode waits five seconds for the second.
INTERRUPT_KEY_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class PaneTerminal:
    """Reads a pane of Rookery's own tmux server and presses keys in it."""

    typist: Typist
    #: Sets whether the runtime reports changes, and reports the current screen again.
    report: Callable[[bool, bool], None]

    async def read(self, *, history: bool = False) -> tuple[str, ...]:
        return await captures.read_screen(self._server, self._name, history=history)

    async def screens(self) -> AsyncIterator[tuple[str, ...]]:
        while not self._pane.is_over:
            stirred = self._pane.next_stir()
            yield await self.read()
            # After the frame, not before the next one: the first change is shown at once.
            await self._clock.sleep(FRAME_INTERVAL_S)
            await stirred.wait()

    async def view(self) -> View:
        return await self.typist.view()

    async def printed(self) -> Printed:
        if await self._runs_command():
            return Printed(is_complete=False)
        was_wiped = self._pane.was_wiped
        return await scrollback.since_mark(self._server, self._name, was_wiped=was_wiped)

    def next_change(self) -> asyncio.Event:
        return self._pane.next_stir()

    def report_changes(self, *, wanted: bool, again: bool = False) -> None:
        self.report(wanted, again)

    async def press(self, *keys: str) -> None:
        async with self._pane.lock:
            await self._require_reachable()
            await safe_input.press(self._server, self._name, *keys)

    async def press_in_dialog(self, press: Press, *, receipt: str) -> None:
        async with self._pane.lock:
            await self._require_reachable()
            await dialog_keys.press_in_dialog(self._server, self._name, press, receipt=receipt)

    async def last_receipt(self) -> str:
        return await dialog_keys.last_receipt(self._server, self._name)

    async def is_attached(self) -> bool:
        shown = line("list-clients", "-F", "#{client_control_mode} #{pane_id}")
        (clients,) = await self._server.ask(shown)
        return f"0 {self._name}".encode() in clients

    async def _runs_command(self) -> bool:
        shell = self._pane.place.pid
        front = terminal_jobs.group_in_front(shell)
        if front is None:
            return False
        # In a thread: it reads the whole process table.
        return await asyncio.to_thread(terminal_jobs.is_at_work, shell, front)

    async def _require_reachable(self) -> None:
        """Raise ``Occupied`` if keys would also reach other panes."""

    @property
    def _server(self) -> AnyServer:
        return self.typist.server

    @property
    def _pane(self) -> Pane:
        return self.typist.pane

    @property
    def _name(self) -> str:
        return self.typist.pane.place.pane

    @property
    def _clock(self) -> Clock:
        return self.typist.clock


async def press_in_turn(terminal: Terminal, keys: Sequence[str], clock: Clock) -> None:
    """Press keys one after the other, with a pause between them."""
    for number, key in enumerate(keys):
        await clock.sleep(INTERRUPT_KEY_INTERVAL_S if number else 0.0)
        await terminal.press(key)
