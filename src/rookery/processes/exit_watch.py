"""Report the end of a process: at once if the kernel reports it, else by polling."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from rookery.processes.operating_system import system
from rookery.processes.table import Process, is_running

#: Seconds between polls of a process where the kernel does not report its end.
EXIT_POLL_S = 0.5


class ExitWatch:
    """Calls ``ended`` once, when a process has ended, or soon if it has ended already."""

    def __init__(
        self,
        process: Process,
        ended: Callable[[], None],
        *,
        is_running: Callable[[Process], bool] = is_running,
    ) -> None:
        self._process = process
        self._ended = ended
        self._is_running = is_running
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._descriptor = system.exit_descriptor(process.pid)
        if self._descriptor is not None:
            self._loop.add_reader(self._descriptor, self._end)
        # After the descriptor is open: the pid may have been reused until then.
        self._check()

    def cancel(self) -> None:
        """Stop watching."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if not self._is_running(self._process):
            self._timer = self._loop.call_later(0, self._end)
        elif self._descriptor is None:
            self._timer = self._loop.call_later(EXIT_POLL_S, self._check)

    def _end(self) -> None:
        self.cancel()
        self._ended()
