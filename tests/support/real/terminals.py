"""A command in a terminal of its own, as a person runs it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread

from tests.support.real.rookery import Rookery, eventually

#: What moves the cursor, erases or colours.
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class CommandTerminal:
    """It keeps all that the command prints."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.has_ended = False
        self.printed = bytearray()
        self._descriptor = descriptor
        self._reader = Thread(target=self._read_on, daemon=True)
        self._reader.start()

    def _read_on(self) -> None:
        with suppress(OSError):
            while select.select([self._descriptor], [], []) and (
                part := os.read(self._descriptor, 65536)
            ):
                self.printed += part

    @property
    def text(self) -> str:
        """All that was printed, without what controls the terminal."""
        return _SEQUENCE.sub("", self.printed.decode(errors="replace"))

    @property
    def last_screen(self) -> str:
        """What was printed since the cursor last went to the first cell."""
        last = self.printed.decode(errors="replace").rpartition("\x1b[H")[2]
        return _SEQUENCE.sub("", last)

    def see(self, words: str) -> None:
        eventually(lambda: words in self.last_screen)

    def press(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)

    def wait(self) -> int:
        """Wait until the command has ended, and return its exit code."""
        _, status = os.waitpid(self.pid, 0)
        self.has_ended = True
        self._reader.join(timeout=5)
        return os.waitstatus_to_exitcode(status)


@contextmanager
def terminal_of(
    rookery: Rookery, *words: str, environment: Mapping[str, str] | None = None
) -> Iterator[CommandTerminal]:
    """Run a command in a terminal of 100 columns; it is killed if it outlives the block."""
    variables = {**rookery.environment, "TERM": "xterm-256color", **(environment or {})}
    variables.pop("COLUMNS", None)
    pid, descriptor = pty.fork()
    if pid == 0:
        select.select([], [], [], 0.1)  # the size of the terminal is set meanwhile
        os.chdir(rookery.project)
        program = [sys.executable, "-m", "rookery", *words]
        os.execvpe(sys.executable, program, variables)  # noqa: S606 - no shell
    terminal = CommandTerminal(pid, descriptor)
    terminal.resize(100, 30)
    try:
        yield terminal
    finally:
        if not terminal.has_ended:  # the test has failed
            os.kill(pid, signal.SIGKILL)
            terminal.wait()
        os.close(descriptor)
