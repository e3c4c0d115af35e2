"""Runs the demo agent: ``python -m rookery.programs.demo``."""

from __future__ import annotations

import select
import signal
import sys
import termios
import time
from collections.abc import Container, Iterable

from rookery.programs.demo import acp, options
from rookery.programs.demo.hooks import Hooks
from rookery.programs.demo.input import ESCAPE_TIMEOUT_S, Decoder, InputEvent
from rookery.programs.demo.options import Options
from rookery.programs.demo.program import Program
from rookery.programs.demo.screen import Frame, Painter, draw
from rookery.programs.demo.session import CRASH, ExitStatus
from rookery.programs.demo.terminal import TERMINATING, DemoTerminal, Signals, die_of

#: Time for the hooks of SessionEnd.
EXIT_HOOKS_TIMEOUT_S = 1.0


class EventLoop:
    """Waits for keys, hooks, signals and time, and keeps the screen up to date."""

    def __init__(self, parsed: Options, terminal: DemoTerminal) -> None:
        self._hooks = Hooks(parsed.hooks, time.monotonic)
        self._program = Program(parsed, self._hooks, time.monotonic)
        self._terminal = terminal
        self._signals = Signals()
        self._decoder = Decoder()
        self._escape_at: float | None = None  #: when a lone ESC becomes the Escape key
        self._painter = Painter(reflows=not terminal.is_alternate)
        self._shown: tuple[Frame, int, int] | None = None

    def run(self) -> ExitStatus:
        """Run until the program ends."""
        while True:
            self._program.advance()
            status = self._program.exit
            if status == CRASH:  # leaves the terminal as it is, and runs no hook
                die_of(signal.SIGKILL)
            self._show()
            if status is not None:
                self._close()
                return status
            deadlines = (self._program.deadline(), self._escape_at)
            ready = self._wait([self._terminal.input], deadlines)
            for event in self._events(ready):
                self._program.press(event)

    def _wait(self, inputs: list[int], deadlines: Iterable[float | None]) -> Container[int]:
        """Wait for something to happen; return which of ``inputs`` are ready."""
        moments = [at for at in (*deadlines, self._hooks.deadline) if at is not None]
        timeout = max(min(moments) - time.monotonic(), 0) if moments else None
        readable, writable = self._hooks.pipes
        ready, _, _ = select.select(
            [*inputs, self._signals.input, *readable], writable, [], timeout
        )
        for number in self._signals.received():
            if number in TERMINATING:
                self._program.leave(ExitStatus(signal=number))
        self._hooks.advance()
        return ready

    def _events(self, ready: Container[int]) -> list[InputEvent]:
        now = time.monotonic()
        if self._terminal.input in ready:
            chunk = self._terminal.read()
            if not chunk:
                self._program.leave(ExitStatus(signal=signal.SIGHUP))
            events = self._decoder.feed(chunk)
            self._escape_at = now + ESCAPE_TIMEOUT_S if self._decoder.is_undecided else None
            return events
        if self._escape_at is not None and now >= self._escape_at:
            self._escape_at = None
            return self._decoder.settle()
        return []

    def _show(self) -> None:
        """Repaint the screen if anything on it has changed."""
        columns, lines = self._terminal.size()
        frame = draw(self._program.live_area(), columns, lines)
        blocks = self._program.take_unprinted()
        if blocks or self._shown != (frame, columns, lines):
            rows = [row for block in blocks for row in block.rows(columns)]
            self._terminal.write(self._painter.paint(rows, frame, columns))
            self._shown = frame, columns, lines

    def _close(self) -> None:
        """Wait for the last hooks, and leave only the conversation on the screen."""
        end = time.monotonic() + EXIT_HOOKS_TIMEOUT_S
        while not self._hooks.is_idle and time.monotonic() < end:
            self._wait([], [end])
        self._hooks.terminate()
        columns, _ = self._terminal.size()
        self._terminal.write(self._painter.erase(columns))


def main() -> int:
    parsed = options.read(sys.argv[1:])
    if parsed.speaks_acp:
        return acp.main(parsed.home)
    try:
        terminal = DemoTerminal(is_alternate=parsed.alternate_screen)
    except termios.error:
        sys.stderr.write("The demo agent needs a terminal.\n")
        return 2
    with terminal:
        status = EventLoop(parsed, terminal).run()
    if status.signal is not None:
        die_of(status.signal)
    return status.code


if __name__ == "__main__":
    sys.exit(main())
