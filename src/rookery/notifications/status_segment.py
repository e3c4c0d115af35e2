"""Keep the numbers of sessions that wait or failed in the status line of Rookery's tmux."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.store import notifications
from rookery.store.database import Database
from rookery.store.wait_for_change import within

#: Minimum seconds between two changes of the line.
MIN_INTERVAL_S = 1.0

#: Seconds after which the line is set again: tmux may have been restarted, a mute may be over.
REPEAT_INTERVAL_S = 30.0


@dataclass(slots=True)
class StatusSegment:
    database: Database
    listed: timedelta  #: how long a failed session counts after its end
    show: Callable[[str], Awaitable[None]]
    _shown: str | None = None  #: the line that tmux shows; None if it must be set again

    async def run(self) -> None:
        """Show the present numbers after each change. Runs for ever."""
        name = "Updating the status line of tmux"
        await supervise.every(
            MIN_INTERVAL_S, self._update, name=name, clock=self.database.clock
        )

    async def clear(self) -> None:
        """Remove the numbers: without a daemon they would soon be wrong."""
        with suppress(RuntimeFailed):
            await self.show("")

    async def _update(self) -> None:
        # Taken before the rows are read, so that no change is missed in between.
        change = self.database.bells.of_work()
        now = self.database.clock.now()
        count = partial(
            notifications.count_sessions, now=now, ended_after=now - self.listed, among=None
        )
        line = (await self.database.read(count)).line
        if line != self._shown:
            self._shown = line
            try:
                await self.show(line)
            except RuntimeFailed:  # tmux is being started or has ended
                self._shown = None
        if not await within(REPEAT_INTERVAL_S, change.wait, self.database.clock):
            self._shown = None
