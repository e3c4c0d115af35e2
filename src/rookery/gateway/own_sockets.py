"""Notice that the file of one of the daemon's sockets is gone or replaced, and make it anew.

A program that tidies up may delete it while the daemon runs: without it no command and no hook
reaches the daemon, although its lock keeps another one from starting.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from rookery.home import Home
from rookery.ports.clock import Clock
from rookery.supervise import every

_log = logging.getLogger(__name__)

#: Seconds between two looks at a socket's file.
CHECK_INTERVAL_S = 2.0

#: Device, inode and time of the last change: an inode number alone is soon used again.
Identity = tuple[int, int, int]


@dataclass(slots=True)
class OwnSocket:
    """A socket of this daemon. ``listen`` binds its path, also a second time."""

    home: Home
    path: Path
    listen: Callable[[], Awaitable[None]]
    _identity: Identity | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._identity = _identify(self.path)

    @property
    def is_in_place(self) -> bool:
        """Whether the file is the one that this daemon made."""
        found = _identify(self.path)
        return found is not None and found == self._identity

    async def keep(self, clock: Clock) -> None:
        """Look for ever, and listen again when the file is gone."""
        name = f"Listening at {self.path} again"
        await every(CHECK_INTERVAL_S, self.restore, name=name, clock=clock)

    async def restore(self) -> None:
        """Listen again if the file is gone. Raises ``HomeUnusable`` and ``OSError``."""
        if self.is_in_place or _is_taken_over(self.home):
            return
        self.home.prepare_run()
        await self.listen()
        self._identity = _identify(self.path)
        _log.warning("%s was deleted or replaced; the daemon listens there again.", self.path)


def _identify(path: Path) -> Identity | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _is_taken_over(home: Home) -> bool:
    """Return whether another daemon has the lock, because the lock's file was deleted."""
    return home.lock_pid() not in {None, os.getpid()}
