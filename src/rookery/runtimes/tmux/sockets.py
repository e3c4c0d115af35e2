"""Make a running tmux server recreate its deleted socket."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import psutil

from rookery.model.errors import RuntimeFailed
from rookery.processes import Process

#: How often a server is asked to recreate its socket, and the seconds between.
TRIES, PAUSE_S = 20, 0.05


def restore(path: Path, words: Collection[str]) -> bool:
    """Restore the socket of the server with these arguments. False if none runs.

    Raises ``RuntimeFailed`` if that fails: a second server would hide the agents of the first.
    """
    if _accepts(path) or (pid := _find_server(words)) is None:
        return False
    with suppress(OSError):  # a cleaner of /tmp may have deleted its folder as well
        path.parent.mkdir(mode=0o700, exist_ok=True)
    for _ in range(TRIES):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
        select.select([], [], [], PAUSE_S)
        if _accepts(path):
            return True
        if _find_server(words) is None:  # it has ended meanwhile
            return False
    raise RuntimeFailed(f"tmux runs (pid {pid}), and its socket {path} is gone.")


def _accepts(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            connection.connect(str(path))
    except BlockingIOError:
        return True  # busy, but running
    except OSError:
        return False
    return True


def _find_server(words: Collection[str]) -> int | None:
    """Return the pid of the server with these arguments, the newest if there are several."""
    # Only the command lines of all processes are read: a start waits for this.
    called = [
        each
        for each in psutil.process_iter(["cmdline"])
        if set(words) <= set(each.info["cmdline"] or ())
    ]
    began = {each.pid: at for each in called if (at := _began(each))}
    return max(began, key=lambda pid: began[pid]) if began else None


def _began(process: psutil.Process) -> float | None:
    """Return when a process began; ``None`` if it is another user's or has ended."""
    try:
        is_ours = process.uids().real == os.getuid() and Process.of(process.pid)
        return process.create_time() if is_ours else None
    except psutil.Error:
        return None
