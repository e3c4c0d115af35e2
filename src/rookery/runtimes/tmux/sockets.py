"""Have a tmux server that still runs make its deleted socket anew."""

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

#: How often, and with how many seconds between, a server is asked for its socket.
TRIES, PAUSE_S = 20, 0.05


def restore(path: Path, words: Collection[str]) -> bool:
    """Restore the socket of the server that was run with these words. False if none runs.

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
        return True  # it is only busy
    except OSError:
        return False
    return True


def _find_server(words: Collection[str]) -> int | None:
    """Return the pid of the server that was run with these words, the newest of several."""
    found = [
        each
        for each in psutil.process_iter(["cmdline", "uids", "create_time"])
        if _is_ours(each) and set(words) <= set(each.info["cmdline"] or ())
    ]
    alive = [each for each in found if Process.of(each.pid)]
    return max(alive, key=lambda each: each.info["create_time"]).pid if alive else None


def _is_ours(process: psutil.Process) -> bool:
    uids = process.info["uids"]
    return uids is not None and uids.real == os.getuid()
