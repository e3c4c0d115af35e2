"""The terminal interface: its first frame, an answer by key, CPU and memory with many sessions.

It runs in a terminal of 80 × 24. The first frame is the time from exec until the list is on the
screen; an answer by key is the time until the screen says that the request was allowed. CPU and
memory are those of the interface while sessions change 50 times a second.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from select import select
from statistics import median
from threading import Thread
from time import monotonic, perf_counter

import psutil

from bench.figures import Figure
from bench.homes import TIMEOUT_S, a_home, pause, until
from bench.panes import live
from bench.processes import usage
from bench.sizes import Sizes
from tests.support.real.rookery import Rookery

#: Events a second that change sessions.
EVENT_RATE = 50

#: The goals.
MAX_FIRST_FRAME_MS, MAX_ANSWER_MS, MAX_CPU_PERCENT, MAX_GROWTH_MB = 800, 100, 10, 3

CALLERS = 16


class TuiTerminal:
    """The interface in a terminal of its own, with what it has written since a key."""

    def __init__(self, rookery: Rookery) -> None:
        self.began = perf_counter()
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            words = [sys.executable, "-m", "rookery", "tui"]
            os.chdir(rookery.project)
            variables = {**rookery.environment, "TERM": "xterm-256color"}
            os.execvpe(sys.executable, words, variables)  # noqa: S606 - no shell
        size = struct.pack("HHHH", 24, 80, 0, 0)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, size)
        self.written = bytearray()
        self.last_at = self.began
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while select([self._descriptor], [], []) and (
                part := os.read(self._descriptor, 65536)
            ):
                self.written += part
                self.last_at = perf_counter()

    def press(self, key: bytes) -> None:
        self.written.clear()
        self.began = perf_counter()
        os.write(self._descriptor, key)

    def milliseconds_until(self, text: bytes) -> float:
        """Return the time since the start or the last key until a text is on the screen."""
        pattern, deadline = re.compile(text), perf_counter() + TIMEOUT_S
        while not pattern.search(bytes(self.written)):
            if perf_counter() > deadline:
                raise TimeoutError(f"{text!r} is not in {bytes(self.written)[-500:]!r}")
            pause(0.001)
        return 1_000 * (perf_counter() - self.began)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        with suppress(OSError):
            os.close(self._descriptor)
        os.waitpid(self.pid, 0)


@contextmanager
def opened(rookery: Rookery) -> Iterator[TuiTerminal]:
    terminal = TuiTerminal(rookery)
    try:
        yield terminal
    finally:
        terminal.close()


def measure(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        rookery.configure(f"[limits]\ntmux_sessions = {sizes.interface_sessions + 10}\n")
        rookery.up()
        rookery.client.post("mode", mode="remote")
        rookery.start("asker")
        _start_sleepers(rookery, sizes.interface_sessions)
        frames = [_first_frame(rookery) for _ in range(sizes.starts)]
        answers = _answers(rookery, sizes)
        busy = _busy(rookery, sizes)
    what = f"{sizes.interface_sessions} sessions"
    return [
        Figure(f"first frame, {what}", "ms", median(frames), goal=MAX_FIRST_FRAME_MS),
        Figure("answer by key, until it is shown", "ms", median(answers), goal=MAX_ANSWER_MS),
        *_busy_figures(f"{what}, {EVENT_RATE} events a second", busy),
    ]


def _start_sleepers(rookery: Rookery, number: int) -> None:
    project = str(rookery.project)

    def start(place: int) -> None:
        rookery.client.post(
            "sessions",
            agent="shell",
            name=f"sleeper-{place}",
            project=project,
            command=["sh", "-c", "echo ready; exec sleep 3600"],
        )

    with ThreadPoolExecutor(CALLERS) as threads:
        list(threads.map(start, range(number)))
    until(lambda: live(rookery) >= number, within=300.0)


def _first_frame(rookery: Rookery) -> float:
    with opened(rookery) as terminal:
        return terminal.milliseconds_until(rb"sleeper-\d")


def _answers(rookery: Rookery, sizes: Sizes) -> list[float]:
    found = []
    with opened(rookery) as terminal:
        terminal.milliseconds_until(rb"sleeper-\d")
        for number in range(sizes.answers):
            rookery.send("asker", f"permission: Bash make target-{number};; say: done")
            terminal.milliseconds_until(b"target-%d" % number)
            terminal.press(b"\x1b[H")  # home: what needs an answer is the first row
            pause(1.0)  # until the request takes keys
            terminal.press(b"a")
            found.append(terminal.milliseconds_until(b"Allowed"))
            until(lambda: rookery.session("asker")["activity"] == "idle")
    return found


def _busy(rookery: Rookery, sizes: Sizes) -> tuple[float, float, float]:
    """Return CPU in percent, memory and its growth in MB, while sessions change."""
    ids = [each["id"] for each in rookery.client.get("sessions")["sessions"]]
    with opened(rookery) as terminal:
        terminal.milliseconds_until(rb"sleeper-\d")
        process = psutil.Process(terminal.pid)
        _change(rookery, ids, sizes.settling)
        before = process.memory_info().rss
        found = usage(
            {"tui": [process]}, lambda: _change(rookery, ids, sizes.interface_seconds)
        )
        after = process.memory_info().rss
    return found["tui"], after / 1e6, (after - before) / 1e6


def _change(rookery: Rookery, ids: list[str], seconds: float) -> None:
    """Rename sessions, evenly spread over some seconds."""
    began = monotonic()
    for number in range(int(seconds * EVENT_RATE)):
        pause(began + number / EVENT_RATE - monotonic())
        session = ids[number % len(ids)]
        rookery.client.post("sessions", session, "name", name=f"sleeper-{number}-{session[:4]}")


def _busy_figures(what: str, busy: tuple[float, float, float]) -> list[Figure]:
    cpu, memory, growth = busy
    return [
        Figure(f"{what}: CPU", "%", cpu, goal=MAX_CPU_PERCENT),
        Figure("  memory", "MB", memory),
        Figure("  growth of memory meanwhile", "MB", growth, goal=MAX_GROWTH_MB),
    ]
