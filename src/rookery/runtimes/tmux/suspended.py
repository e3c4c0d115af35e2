"""Continue programs that ctrl-z has suspended in a pane without a shell.

On ctrl-z, an agent releases its terminal, sends SIGTSTP to its process group and waits for
SIGCONT, which a shell sends on ``fg``. In Rookery's own panes there is no shell: the kernel
discards SIGTSTP for such a group, so the agent runs on, reads no keys, and waits for ever.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from rookery.model.errors import RuntimeFailed
from rookery.ports.clock import Clock
from rookery.ports.sightings import Sighting, Unsuspended
from rookery.processes import signal_group, system
from rookery.runtimes.tmux import captures
from rookery.runtimes.tmux.panes import Chore, Pane
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer

_log = logging.getLogger(__name__)

#: Seconds from output of a program to the check whether it has suspended itself.
CHECK_DELAY_S = 1.0

#: How often a program is told to continue before it is left as it is.
MAX_ATTEMPTS = 3

#: How long a program may run before it reads keys: until then it may still be starting.
MAX_START_TIME = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class SuspendedPrograms:
    """Finds suspended programs in the panes of Rookery's own tmux server."""

    server: AnyServer
    clock: Clock
    sightings: asyncio.Queue[Sighting]
    chores: asyncio.Queue[Chore]

    def note(self, pane: Pane) -> None:
        """Check a program soon: it has printed something, perhaps that it is suspended."""
        if pane.agent.input.suspends and pane.suspension.check is None and not pane.is_over:
            loop = asyncio.get_running_loop()
            pane.suspension.check = loop.call_later(CHECK_DELAY_S, self._begin_check, pane)

    def _begin_check(self, pane: Pane) -> None:
        pane.suspension.check = None
        self.chores.put_nowait(partial(self._check, pane))

    async def _check(self, pane: Pane) -> None:
        known = pane.suspension
        with suppress(RuntimeFailed):  # disconnected: after a reconnect all panes are noted
            known.tty = known.tty or await self._terminal_device(pane)
            if not captures.takes_lines(known.tty):
                self._note_reading(pane)
            elif not known.has_read_keys and self._may_be_starting(pane):
                self.note(pane)
            else:
                self._continue(pane)

    async def _terminal_device(self, pane: Pane) -> str:
        question = line("display-message", "-p", "-t", pane.place.pane, "#{pane_tty}")
        ((answer, *_),) = await self.server.ask(question)
        return answer.decode(errors="replace")

    def _note_reading(self, pane: Pane) -> None:
        """Record that a program reads keys, and that it was made to continue, if it was."""
        was_suspended = pane.suspension.attempts > 0
        pane.suspension.has_read_keys, pane.suspension.attempts = True, 0
        if was_suspended:
            self.sightings.put_nowait(Unsuspended(pane.session))

    def _continue(self, pane: Pane) -> None:
        """Tell a program to continue, unless another program uses its terminal."""
        if pane.process is None or not system.is_in_front(pane.process.pid):
            return
        if pane.suspension.attempts >= MAX_ATTEMPTS:
            _log.warning("The program of %s stays suspended after SIGCONT.", pane.session)
            return
        pane.suspension.attempts += 1
        signal_group(pane.process, signal.SIGCONT)
        self.note(pane)

    def _may_be_starting(self, pane: Pane) -> bool:
        began = system.began(pane.place.pid)
        return began is not None and self.clock.now() - began < MAX_START_TIME
