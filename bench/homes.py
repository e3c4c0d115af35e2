"""Private homes and tmux servers for a benchmark; removed afterwards, also after Ctrl-C."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import psutil

from tests.support.real.rookery import Rookery

#: Timeout in seconds for anything that should happen at once, on a busy machine.
TIMEOUT_S = 30.0

#: Seconds between two reads of the daemon's database: rare enough not to slow it down. Times
#: are taken from its entries, not from the moment of the read.
POLL_INTERVAL_S = 0.03

#: Seconds for programs to exit after their terminal is closed.
EXIT_TIMEOUT_S = 3.0


def pause(seconds: float) -> None:
    select.select([], [], [], max(seconds, 0.0))


def until(question: Callable[[], object], *, within: float = TIMEOUT_S) -> None:
    """Poll until the answer is true. Raises ``TimeoutError``."""
    deadline = monotonic() + within
    while not question():
        if monotonic() > deadline:
            raise TimeoutError(f"not within {within:g} s: {question.__doc__ or question}")
        pause(POLL_INTERVAL_S)


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rookery-bench-"))
    try:
        yield folder
    finally:
        with ignoring_interrupts():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def a_home() -> Iterator[Rookery]:
    """Yield a home without a running daemon; what is started there is ended."""
    with scratch() as folder:
        rookery = Rookery(folder / "rookery")
        try:
            yield rookery
        finally:
            with ignoring_interrupts():
                _clean_up(rookery)


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C during the clean-up."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _clean_up(rookery: Rookery) -> None:
    try:
        rookery.stop()
    except subprocess.TimeoutExpired:
        rookery.reap()
    end_server(rookery.home.tmux)
    rookery.end_driver_host()
    # It is outside of the home if the home's path is too long.
    shutil.rmtree(rookery.home.run, ignore_errors=True)


def tmux(socket: Path, *words: str) -> str:
    """Run one tmux command, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
    done = subprocess.run(
        ["tmux", "-u", "-S", str(socket), *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**environment, "LC_ALL": "C.UTF-8"},
    )
    return done.stdout


def end_server(socket: Path) -> None:
    """End a tmux server and all programs in it. No client may be attached."""
    programs = []
    for pid in tmux(socket, "list-panes", "-a", "-F", "#{pane_pid}").split():
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(int(pid))
            programs += [leader, *leader.children(recursive=True)]
    tmux(socket, "kill-server")
    _, left = psutil.wait_procs(programs, timeout=EXIT_TIMEOUT_S)
    for each in left:
        with suppress(psutil.NoSuchProcess):
            each.kill()
