"""The loop: waits for keys, hooks, signals and time, and keeps the screen."""

from __future__ import annotations

import select
import signal
from collections.abc import Container, Iterable

from rookery.programs.demo.hooks import Hooks
from rookery.programs.demo.input import ESCAPE_TIMEOUT_S, Decoder, InputEvent
from rookery.programs.demo.program import Clock, Program
from rookery.programs.demo.screen import Frame, Painter, draw
from rookery.programs.demo.signals import DEADLY, Signals
from rookery.programs.demo.stage import Farewell
from rookery.programs.demo.terminal import Terminal

#: Seconds the hooks have to hear of the end.
LAST_WORDS = 1.0


class Loop:
    def __init__(
        self, program: Program, hooks: Hooks, terminal: Terminal, clock: Clock
    ) -> None:
        self._program = program
        self._hooks = hooks
        self._terminal = terminal
        self._clock = clock
        self._signals = Signals()
        self._decoder = Decoder()
        self._escape_at: float | None = None  #: when an ESC will have been the Escape key
        self._painter = Painter(reflows=not terminal.is_alternate)
        self._shown: tuple[Frame, int, int] | None = None

    def run(self) -> Farewell:
        """Run until the program ends."""
        while True:
            self._program.advance()
            self._show()
            if (farewell := self._program.farewell) is not None:
                self._part()
                return farewell
            deadlines = (self._program.deadline(), self._escape_at)
            ready = self._wait([self._terminal.input], deadlines)
            for event in self._events(ready):
                self._program.press(event)

    def _wait(self, inputs: list[int], deadlines: Iterable[float | None]) -> Container[int]:
        """Wait for something to happen, and return which of ``inputs`` have something."""
        moments = [at for at in (*deadlines, self._hooks.deadline) if at is not None]
        timeout = max(min(moments) - self._clock(), 0) if moments else None
        outputs, wanted = self._hooks.pipes
        ready, _, _ = select.select(
            [*inputs, self._signals.input, *outputs], wanted, [], timeout
        )
        for number in self._signals.taken():
            if number in DEADLY:
                self._program.leave(Farewell(signal=number))
        self._hooks.advance()
        return ready

    def _events(self, ready: Container[int]) -> list[InputEvent]:
        now = self._clock()
        if self._terminal.input in ready:
            chunk = self._terminal.read()
            if not chunk:
                self._program.leave(Farewell(signal=signal.SIGHUP))
            events = self._decoder.feed(chunk)
            self._escape_at = now + ESCAPE_TIMEOUT_S if self._decoder.is_undecided else None
            return events
        if self._escape_at is not None and now >= self._escape_at:
            self._escape_at = None
            return self._decoder.settle()
        return []

    def _show(self) -> None:
        """Bring the screen up to date, if anything on it has changed."""
        columns, lines = self._terminal.size()
        frame = draw(self._program.view(), columns, lines)
        printed = self._program.take_printed()
        if printed or self._shown != (frame, columns, lines):
            rows = [row for block in printed for row in block.rows(columns)]
            self._terminal.write(self._painter.paint(rows, frame, columns))
            self._shown = frame, columns, lines

    def _part(self) -> None:
        """Let the hooks hear of the end, and leave the conversation on the screen."""
        end = self._clock() + LAST_WORDS
        while not self._hooks.is_idle and self._clock() < end:
            self._wait([], [end])
        self._hooks.terminate()
        columns, _ = self._terminal.size()
        self._terminal.write(self._painter.erase(columns))
