"""Signals as something one can wait for in a select."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

#: Those that end us, after a farewell.
DEADLY = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGINT})


class Signals:
    def __init__(self) -> None:
        self.input, output = os.pipe()
        os.set_blocking(self.input, False)
        os.set_blocking(output, False)
        signal.set_wakeup_fd(output, warn_on_full_buffer=False)
        for number in (signal.SIGWINCH, signal.SIGCHLD, *DEADLY):
            # Python writes the number to the pipe; there is nothing else to be done.
            signal.signal(number, lambda _number, _frame: None)

    def taken(self) -> Iterable[int]:
        """Return the numbers of those that came since the last time."""
        try:
            return os.read(self.input, 1024)
        except BlockingIOError:
            return ()


def die_of(number: int) -> None:
    """End as if the signal had not been caught, so that the parent sees it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
