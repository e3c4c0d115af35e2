"""Report when panes change and fall quiet, and pause the output of panes that flood."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.ports.clock import Clock
from rookery.ports.sightings import Changed, FellQuiet, Sighting, Skipped
from rookery.runtimes.tmux import floods, scrollback
from rookery.runtimes.tmux.panes import Chore, Pane
from rookery.runtimes.tmux.server import Server
from rookery.runtimes.tmux.suspended import SuspendedPrograms

#: Seconds from a screen change to its report: a redraw comes in many pieces.
SETTLE_SECONDS = 0.15

#: Seconds between checks for sessions that have become quiet.
QUIET_CHECK_SECONDS = 0.25

#: Seconds before a screen is reported again if the last check had no result.
REPORT_AGAIN_SECONDS = 5.0


@dataclass(slots=True)
class PaneActivity:
    """Reports what the panes of Rookery's own tmux server do."""

    panes: Mapping[SessionId, Pane]
    server: Server
    clock: Clock
    sightings: asyncio.Queue[Sighting]
    chores: asyncio.Queue[Chore]
    suspended: SuspendedPrograms
    _unsettled: set[SessionId] = field(default_factory=set)  #: printed, and are not quiet yet
    _sweeping: asyncio.TimerHandle | None = None

    def note_later(self, pane: Pane) -> None:
        """Report the screen once more later, as if it had just changed."""
        asyncio.get_running_loop().call_later(REPORT_AGAIN_SECONDS, self.note, pane)

    async def mute_flood(self, pane: Pane) -> None:
        """Check a flooding pane once a second, until it is quiet."""
        self.sightings.put_nowait(Skipped(pane.session))

        def still_prints() -> bool:
            pane.last_output = pane.last_line = asyncio.get_running_loop().time()
            pane.stir()
            self.note(pane)
            return not pane.is_over

        try:
            await floods.sit_out(self.server, pane.place, self.clock, still_prints)
        finally:
            pane.meter.is_muted = False
            pane.stir()
            self.note(pane)

    async def resume(self, pane: Pane) -> None:
        """Resume a pane whose output came faster than it could be read."""
        self.sightings.put_nowait(Skipped(pane.session))
        with suppress(RuntimeFailed):  # the line is lost; a new one begins unpaused
            await self.server.resume(pane.place.pane)
        self.note(pane)

    def note(self, pane: Pane) -> None:
        """Report a change after a short delay, and later that the session is quiet."""
        self.suspended.note(pane)
        loop = asyncio.get_running_loop()
        if pane.changing is None and pane.is_attended:
            pane.changing = loop.call_later(SETTLE_SECONDS, self._changed, pane)
        self._unsettled.add(pane.session)
        if self._sweeping is None:
            self._sweeping = loop.call_later(QUIET_CHECK_SECONDS, self._sweep)

    def _changed(self, pane: Pane) -> None:
        pane.changing = None
        self.sightings.put_nowait(Changed(pane.session))

    def _sweep(self) -> None:
        """Report sessions that became quiet. One timer for all costs less than one each."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for session in tuple(self._unsettled):
            pane = self.panes.get(session)
            if pane is None or now - pane.last_output >= pane.agent.input.quiet:
                self._unsettled.discard(session)
                if pane:
                    self.sightings.put_nowait(FellQuiet(session))
            elif pane.only_redraws(now):
                pane.last_line = now
                self.chores.put_nowait(partial(self._check_at_rest, pane))
        self._sweeping = (
            loop.call_later(QUIET_CHECK_SECONDS, self._sweep) if self._unsettled else None
        )

    async def _check_at_rest(self, pane: Pane) -> None:
        """Report a session as quiet if it only keeps redrawing its status."""
        if await scrollback.is_at_rest(self.server, pane.place.pane):
            self.sightings.put_nowait(FellQuiet(pane.session))
