"""Renew the bars that attached terminals show below sessions in Rookery's tmux."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.model.notifications import SessionBar, SessionCounts
from rookery.store import notifications
from rookery.store.database import Database
from rookery.store.notifications import CountedSession
from rookery.store.wait_for_change import within

#: Minimum seconds between two changes of the bars.
MIN_INTERVAL_S = 1.0

#: Seconds after which the bars are updated without a change: a mute may have expired.
REPEAT_INTERVAL_S = 30.0


@dataclass(frozen=True, slots=True)
class SessionBars:
    database: Database
    listed: timedelta  #: how long a failed session counts after its end
    counts_others: bool
    #: Shows the bars, which it gets by the names of their programs in Rookery's tmux.
    show: Callable[[Mapping[str, SessionBar]], Awaitable[None]]

    async def run(self) -> None:
        """Show the present states after each change. Runs for ever."""
        name = "Updating the bars of attached terminals"
        await supervise.every(
            MIN_INTERVAL_S, self._update, name=name, clock=self.database.clock
        )

    async def clear(self) -> None:
        """Replace the states with "the daemon is down": they would soon be wrong."""
        sessions = await self._read()
        with suppress(RuntimeFailed):
            stopped = [replace(each, state="the daemon is down") for each in sessions]
            await self.show(bars_of(stopped, counts_others=False))

    async def _update(self) -> None:
        # Taken before the rows are read, so that no change is missed in between.
        change = self.database.bells.of_work()
        bars = bars_of(await self._read(), counts_others=self.counts_others)
        with suppress(RuntimeFailed):  # tmux is being started or has ended
            await self.show(bars)
        await within(REPEAT_INTERVAL_S, change.wait, self.database.clock)

    async def _read(self) -> list[CountedSession]:
        now = self.database.clock.now()
        counted = partial(notifications.counted, now=now, ended_after=now - self.listed)
        return await self.database.read(counted)


def bars_of(
    sessions: Sequence[CountedSession], *, counts_others: bool
) -> Mapping[str, SessionBar]:
    """Return the bar of each session that has a terminal, by the name of its program."""
    counted = [each for each in sessions if each.is_counted]
    waiting = [each for each in counted if each.counts_as == "waiting" and each.program]
    numbers = dict.fromkeys(("waiting", "failed", "working", "idle"), 0)
    for each in counted:
        numbers[each.counts_as] += 1
    return {
        each.program: SessionBar(
            text=f"{each.name} · {each.agent} · {each.state}",
            others=_line_without(numbers, each) if counts_others else "",
            next=_next_after(waiting, each),
        )
        for each in sessions
        if each.program
    }


def _line_without(numbers: Mapping[str, int], session: CountedSession) -> str:
    own = 1 if session.is_counted else 0
    others = {**numbers, session.counts_as: numbers[session.counts_as] - own}
    return SessionCounts(**others).line


def _next_after(waiting: Sequence[CountedSession], session: CountedSession) -> str:
    """Return the program of the next session that waits, in a cycle; empty if none does."""
    programs = [each.program for each in waiting]
    at = programs.index(session.program) + 1 if session.program in programs else 0
    following = [each for each in (*programs[at:], *programs[:at]) if each != session.program]
    return following[0] if following else ""
