"""Find the daemon of a home by the lock that it holds, even if its socket does not answer."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rookery.home import Home
from rookery.processes import Process, system


def find_daemon(home: Home) -> int | None:
    """Return the pid of the process that holds this home's lock, or None.

    It does not try to take the lock: a daemon that starts just then would find it taken.
    """
    if (pid := home.lock_pid()) is None:
        return None
    # After kill -9 the file still names the old pid, which another program may have by now.
    is_ours = is_alive(pid) and system.has_open(pid, str(home.lock.resolve()))
    return pid if is_ours else None


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not count."""
    return Process.of(pid) is not None


def stop_by_signal(home: Home) -> int | None:
    """Send SIGTERM to the daemon of a home, and return its pid; None if none runs.

    For a daemon that takes no requests: it is starting, or its database is damaged.
    """
    if (pid := find_daemon(home)) is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return pid


def advice_on_stall(home: Home) -> str:
    """Return advice on a daemon that does not answer."""
    pid = find_daemon(home)
    end = f"kill -9 {pid}" if pid else "rookery down"
    return (
        "It may be busy; see:  rookery daemon logs  If it hangs, end it with:"
        f"  {end}  and start it again with:  rookery up  Agents keep running."
    )
