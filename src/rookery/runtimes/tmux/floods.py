"""Pause the output of a pane that prints very fast, until it is quiet again.

In control mode tmux encodes every byte once more, which slows the program down. While a pane
floods, its output is paused on Rookery's control line; tmux itself keeps reading it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from rookery.model.errors import RuntimeFailed
from rookery.ports.clock import Clock
from rookery.runtimes.tmux.places import Place
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import Server

#: Bytes within one second that count as a flood.
FLOOD_BYTES = 1_000_000

#: Seconds between two checks of a flooding pane. Not less: tmux reports the time of the last
#: output in whole seconds.
LOOK_INTERVAL_S = 1.0


@dataclass(slots=True)
class OutputMeter:
    """Counts the bytes that a pane prints within a second."""

    is_muted: bool = False
    _since: float = 0.0
    _bytes: int = 0

    def overflows(self, size: int, now: float) -> bool:
        """Count ``size`` bytes; return whether they make it a flood."""
        if now - self._since >= 1:
            self._since, self._bytes = now, 0
        self._bytes += size
        return self._bytes > FLOOD_BYTES and not self.is_muted


async def sit_out(
    server: Server, place: Place, clock: Clock, still_prints: Callable[[], bool]
) -> None:
    """Mute a pane until it is quiet; call ``still_prints`` before each check.

    Ends early when that returns False, or when the control line is lost: on a new line all
    panes are on.
    """
    with suppress(RuntimeFailed):
        await server.mute(place.pane)
        before = b""
        while still_prints():
            await clock.sleep(LOOK_INTERVAL_S)
            # Compared with each other, not with the daemon's clock, which may be set back.
            last, before = before, await _last_output(server, place)
            if before == last:
                break
        await server.resume(place.pane)


async def _last_output(server: Server, place: Place) -> bytes:
    """Return when the pane's window last printed, as tmux reports it."""
    asked = line("display-message", "-p", "-t", place.pane, "x#{window_activity}")
    ((answer, *_),) = await server.ask(asked)
    return answer
