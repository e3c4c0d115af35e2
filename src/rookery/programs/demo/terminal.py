"""The terminal in raw mode, and signals as a descriptor that a select can wait for."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

_BRACKETED_PASTE = "\x1b[?2004h", "\x1b[?2004l"
_ALTERNATE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"

#: The most bytes of one read. A terminal seldom has more than 4 KiB ready.
_CHUNK_BYTES = 65_536

#: Signals that end the program, after its SessionEnd hook.
TERMINATING = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGINT})


class DemoTerminal:
    """Puts the terminal into raw mode on entry, and restores it on exit."""

    def __init__(self, *, is_alternate: bool) -> None:
        self.is_alternate = is_alternate
        self.input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._modes = [_BRACKETED_PASTE, *([_ALTERNATE_SCREEN] if is_alternate else [])]
        self._before = termios.tcgetattr(self.input)

    def __enter__(self) -> Self:
        # TCSADRAIN keeps what was typed ahead: the program decides whether to take it.
        tty.setraw(self.input, termios.TCSADRAIN)
        self.write("".join(on for on, _ in self._modes))
        return self

    def __exit__(self, *_: object) -> None:
        self.write("".join(off for _, off in self._modes))
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(self.input, termios.TCSADRAIN, self._before)

    def read(self) -> bytes:
        """Read the available bytes; an empty result means that the terminal is gone."""
        try:
            return os.read(self.input, _CHUNK_BYTES)
        except OSError:
            return b""

    def write(self, text: str) -> None:
        """Write all of ``text``."""
        rest = text.encode(errors="replace")
        with suppress(OSError):  # the terminal may be gone: the next read reports it
            while rest:
                rest = rest[os.write(self._output, rest) :]

    def size(self) -> tuple[int, int]:
        """Return the present columns and lines."""
        try:
            size = os.get_terminal_size(self._output)
        except OSError:
            return 80, 24
        return max(size.columns, 10), max(size.lines, 3)


class Signals:
    def __init__(self) -> None:
        self.input, output = os.pipe()
        os.set_blocking(self.input, False)
        os.set_blocking(output, False)
        signal.set_wakeup_fd(output, warn_on_full_buffer=False)
        for number in (signal.SIGWINCH, signal.SIGCHLD, *TERMINATING):
            # Python writes the number to the pipe; the handler has nothing to do.
            signal.signal(number, lambda _number, _frame: None)

    def received(self) -> Iterable[int]:
        """Return the numbers of the signals since the last call."""
        try:
            return os.read(self.input, 1024)
        except BlockingIOError:
            return ()


def die_of(number: int) -> None:
    """End this process by a signal that it has caught, so that its parent sees the signal."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
