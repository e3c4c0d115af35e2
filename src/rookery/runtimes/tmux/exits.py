"""Notice at once when a pane's program ends, with its exit status or signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

import psutil

from rookery.ports.clock import Clock
from rookery.ports.runtime import Place
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import Server

#: tmux before 3.6 may miss the SIGCHLD of a child; sending it again helps within 20 ms.
_MAX_SIGNALS = 50
_SIGNAL_INTERVAL_SECONDS = 0.02

_STATUS = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"


def watch_process(pid: int, ended: Callable[[], None]) -> int | None:
    """Call ``ended`` once the process has ended. ``None`` if it has, or cannot be watched."""
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None
    asyncio.get_running_loop().add_reader(descriptor, ended)
    return descriptor


def is_alive(pid: int) -> bool:
    """Return whether a process runs: for systems on which it cannot be watched."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def unwatch(descriptor: int) -> None:
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


async def exit_of(
    server: Server, place: Place, clock: Clock
) -> tuple[int | None, int | None] | None:
    """Return exit status and signal of a pane's program, or ``None`` if the pane is gone.

    A pane that runs another program by now counts as gone. Both are ``None`` if tmux itself
    does not know.
    """
    for _ in range(_MAX_SIGNALS):
        try:
            ((answer, *_),) = await server.ask(
                line("display-message", "-p", "-t", place.tmux_pane, f"x{_STATUS}")
            )
        except TmuxRefused:
            return None
        pid, dead, status, number = answer.decode().removeprefix("x").split(" ")
        if pid != str(place.pid):  # tmux answers with empty fields for an unknown pane
            return None
        if dead == "1" and (status or number):
            return (int(status) if status else None, _number(number))
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGCHLD)
        await clock.sleep(_SIGNAL_INTERVAL_SECONDS)
    return None, None


def _number(name: str) -> int | None:
    """Return the number of a signal, which newer versions of tmux give by name."""
    if not name:
        return None
    return int(name) if name.isdigit() else getattr(signal, f"SIG{name}", signal.SIGKILL)
