"""Run the real program without the cost of its imports: a warm process forks for each command.

Most of what a command or a start of the daemon takes is Python loading modules, and the tests
run thousands of them. The warm process (``tests.support.real.forking``) has loaded them all.
Commands about how a process begins are run as installed: see ``can_fork``.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TextIO

from tests.support.paths import ROOT

#: Bytes of one request; a longer one is run as installed.
MAX_REQUEST_BYTES = 60_000

#: What Python and the kernel read when a process begins, and a fork cannot change.
FIXED_AT_START = (
    *("LC_", "LANG", "PYTHON"),
    *("ROOKERY_SESSION", "ROOKERY_BADGE", "ROOKERY_PORTABLE"),
)


@dataclass(slots=True)
class Forked:
    """A command that the warm process runs; to be used as ``subprocess.Popen`` is."""

    pid: int
    stdout: TextIO | None
    _status: int  #: a pipe that tells how it ended
    returncode: int | None = None

    def poll(self, timeout: float | None = 0) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = int(os.read(self._status, 100) or b"-1")
            os.close(self._status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        code = self.poll(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("rookery", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for its end, and return what it has printed since it was last read.

        The end of the pipe is not waited for: another process may have inherited it.
        """
        self.wait(timeout)
        said = b""
        if self.stdout:
            with self.stdout as stdout:
                os.set_blocking(stdout.fileno(), False)
                said = stdout.buffer.read() or b""
        return said.decode(errors="replace"), None


@dataclass(slots=True)
class Warm:
    """The process that forks, and the line to it."""

    _control: socket.socket | None = None
    _process: subprocess.Popen[bytes] | None = None
    _lock: Lock = field(default_factory=Lock)

    def start(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> Forked:
        """Begin a command whose output is read from a pipe."""
        read, write = os.pipe()
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted
            forked = self._fork(words, environment, folder, (nothing.fileno(), write, write))
        os.close(write)
        forked.stdout = os.fdopen(read, encoding="utf-8", errors="replace")
        return forked

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path, given: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with tempfile.TemporaryFile() as into, tempfile.TemporaryFile() as out:  # noqa: SIM117
            with tempfile.TemporaryFile() as err:
                into.write(given.encode())
                into.seek(0)
                streams = (into.fileno(), out.fileno(), err.fileno())
                forked = self._fork(words, environment, folder, streams)
                try:
                    code = forked.wait(120)
                except subprocess.TimeoutExpired:
                    forked.kill()
                    raise
                out.seek(0)
                err.seek(0)
                said, complained = out.read().decode(), err.read().decode()
        return subprocess.CompletedProcess(["rookery", *words], code, said, complained)

    def _fork(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        streams: tuple[int, int, int],
    ) -> Forked:
        request = json.dumps([list(words), dict(environment), str(folder)]).encode()
        read, write = os.pipe()
        with self._lock:
            socket.send_fds(self._line(), [request], [*streams, write])
        os.close(write)
        with_newline = b""
        while not with_newline.endswith(b"\n"):
            part = os.read(read, 1)
            assert part, "the warm process is gone"
            with_newline += part
        return Forked(int(with_newline), None, read)

    def _line(self) -> socket.socket:
        if self._control is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MAX_REQUEST_BYTES)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.support.real.forking", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    cwd=ROOT,
                    start_new_session=True,
                )
            self._control = ours
            atexit.register(self.close)
        return self._control

    def close(self) -> None:
        """Let the warm process leave; what it has forked goes on."""
        if self._control and self._process:
            self._control.close()
            self._process.wait()


WARM = Warm()


def can_fork(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a fork can stand for the program: not if it is about how a process begins."""
    size = sum(map(len, words)) + sum(
        len(name) + len(environment[name]) for name in environment
    )
    is_usual = all(
        environment.get(name) == os.environ.get(name)
        for name in {*environment, *os.environ}
        if name.startswith(FIXED_AT_START)
    )
    return hasattr(os, "pidfd_open") and is_usual and 6 * size < MAX_REQUEST_BYTES
