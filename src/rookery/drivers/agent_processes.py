"""The processes of a driven agent: its program, and what that has started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from rookery.processes import Process, descendants, signal_each

#: Seconds after the begin of a tool call until its processes are noted for the first time.
FIRST_NOTE_SECONDS = 0.1

#: The longest time between two notes. Each takes twice as long to come as the one before.
MAX_NOTE_SECONDS = 5.0


class AgentProcesses:
    """Knows what an agent runs, also after it has ended unexpectedly.

    What it runs is noted again and again while it calls tools: once it has ended, its commands
    are no longer known as its descendants. A process that has left the agent while it ran is
    forgotten: it is meant to stay.
    """

    def __init__(self, changed: Callable[[Iterable[Process]], None]) -> None:
        """Call ``changed`` with all processes below the agent when new ones were noted."""
        self._changed = changed
        self._noted: dict[Process, None] = {}
        self._is_ending = False
        self._timer: asyncio.TimerHandle | None = None

    def note(self, pid: int | None) -> None:
        """Note the processes of an agent while it runs; ``None``: it has not been started."""
        if pid is None or (agent := Process.of(pid)) is None:
            return  # those that it had at last stay noted
        below = dict.fromkeys(filter(None, map(Process.of, descendants(pid))))
        if Process.of(pid) != agent:
            return  # it has ended meanwhile, and some were no longer below it
        is_new = not below.keys() <= self._noted.keys()
        # While it ends, one may be left by its parent, which has ended before it.
        kept = self._noted if self._is_ending else {}
        self._noted = {**kept, agent: None, **below}
        if is_new:
            self._changed(below)

    def watch(self, pid: Callable[[], int | None], is_active: Callable[[], bool]) -> None:
        """Note the processes soon, and at growing intervals until the agent is not active."""
        loop = asyncio.get_running_loop()
        if self._timer and self._timer.when() <= loop.time() + FIRST_NOTE_SECONDS:
            return
        self.stop_watching()

        def note(seconds: float) -> None:
            self._timer = None
            self.note(pid())
            if is_active():
                longer = min(2 * seconds, MAX_NOTE_SECONDS)
                self._timer = loop.call_later(longer, note, longer)

        self._timer = loop.call_later(FIRST_NOTE_SECONDS, note, FIRST_NOTE_SECONDS)

    def stop_watching(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def begin_to_end(self, pid: int | None) -> None:
        """Note the processes, and keep them: the agent is about to end."""
        self._is_ending = True
        self.note(pid)

    def signal(self, number: int) -> None:
        """Send a signal to all processes that were noted, and to those below them."""
        signal_trees(self._noted, number)


def signal_trees(roots: Iterable[Process], number: int) -> None:
    """Send a signal to those of these processes that run, and to their descendants."""
    running = [each for each in roots if Process.of(each.pid) == each]
    below = [child for each in running for child in descendants(each.pid)]
    children = filter(None, map(Process.of, below))
    signal_each(dict.fromkeys((*running, *children)), number)
