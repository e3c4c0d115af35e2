"""The terminal: raw while we have it, as it was when we leave."""

from __future__ import annotations

import os
import sys
import termios
import tty
from contextlib import suppress
from typing import Self

_BRACKETED_PASTE = "\x1b[?2004h", "\x1b[?2004l"
_ALTERNATE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"

#: Bytes taken at once; a terminal seldom has more than 4 KiB ready.
_CHUNK = 65_536


class Terminal:
    def __init__(self, *, is_alternate: bool) -> None:
        self.is_alternate = is_alternate
        self.input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._modes = [_BRACKETED_PASTE, *([_ALTERNATE_SCREEN] if is_alternate else [])]
        self._before = termios.tcgetattr(self.input)

    def __enter__(self) -> Self:
        # Not flushed: what was typed ahead is ours to judge.
        tty.setraw(self.input, termios.TCSADRAIN)
        self.write("".join(on for on, _ in self._modes))
        return self

    def __exit__(self, *_: object) -> None:
        self.write("".join(off for _, off in self._modes))
        with suppress(termios.error):  # it may be gone already
            termios.tcsetattr(self.input, termios.TCSADRAIN, self._before)

    def read(self) -> bytes:
        """Read what is there; nothing means that the terminal is gone."""
        try:
            return os.read(self.input, _CHUNK)
        except OSError:
            return b""

    def write(self, text: str) -> None:
        """Write all of ``text`` in one go."""
        rest = text.encode(errors="replace")
        with suppress(OSError):  # it may be gone: the next read says so
            while rest:
                rest = rest[os.write(self._output, rest) :]

    def size(self) -> tuple[int, int]:
        """Columns and lines, now."""
        try:
            size = os.get_terminal_size(self._output)
        except OSError:
            return 80, 24
        return max(size.columns, 10), max(size.lines, 3)
