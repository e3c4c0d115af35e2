"""Ask tmux how a pane's program ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rookery.ports.clock import Clock
from rookery.runtimes.tmux.control import TmuxRefused
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import Server

#: tmux before 3.6 may miss the SIGCHLD of a child; sending it again helps within 20 ms.
_MAX_SIGNALS = 50
_SIGNAL_INTERVAL_SECONDS = 0.02

_STATUS = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"


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
                line("display-message", "-p", "-t", place.pane, f"x{_STATUS}")
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
