"""Make a running tmux server recreate its deleted socket."""

from __future__ import annotations

import select
import signal
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from rookery.model.errors import RuntimeFailed
from rookery.processes import Process, find_newest, is_running, send_signal

#: How often a server is asked to recreate its socket, and the seconds between.
TRIES, PAUSE_S = 20, 0.05


def restore(path: Path, words: Collection[str]) -> bool:
    """Restore the socket of the server with these arguments. False if none runs.

    Raises ``RuntimeFailed`` if that fails: a second server would hide the agents of the first.
    """
    if _accepts(path) or (pid := find_newest(words)) is None:
        return False
    return (server := Process.of(pid)) is not None and recreate(path, server)


def recreate(path: Path, server: Process) -> bool:
    """Have a server recreate its socket. False if it ends meanwhile. Raises as ``restore``."""
    with suppress(OSError):  # a cleaner of /tmp may have deleted its folder as well
        path.parent.mkdir(mode=0o700, exist_ok=True)
    for _ in range(TRIES):
        send_signal(server, (), signal.SIGUSR1)
        select.select([], [], [], PAUSE_S)
        if _accepts(path):
            return True
        if not is_running(server):
            return False
    raise RuntimeFailed(f"tmux is running (pid {server.pid}), but its socket {path} is gone.")


def identify(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a socket's file; tmux changes its mode and times."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
