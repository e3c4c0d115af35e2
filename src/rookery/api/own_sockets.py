"""Detect that the file of one of the daemon's sockets is gone or replaced, and restore it.

A cleanup program may delete the file while the daemon runs. Then no command and no hook reaches
the daemon, and its lock still keeps another daemon from starting.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from rookery.home import Home
from rookery.ports.clock import Clock
from rookery.private_files import make_room
from rookery.supervise import every

_log = logging.getLogger(__name__)

#: Seconds between two checks of a socket's file.
CHECK_INTERVAL_S = 2.0

#: Device, inode and time of the last change: an inode number alone is soon reused.
Identity = tuple[int, int, int]


@dataclass(slots=True)
class OwnSocket:
    """A socket of this daemon. ``listen`` binds its path, and may be called again."""

    home: Home
    path: Path
    listen: Callable[[], Awaitable[None]]
    _identity: Identity | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._identity = _identify(self.path)

    @property
    def is_in_place(self) -> bool:
        """Return whether the file is the one that this daemon made."""
        current = _identify(self.path)
        return current is not None and current == self._identity

    async def keep(self, clock: Clock) -> None:
        """Check the file for ever, and listen again when it is gone."""
        name = f"Listening at {self.path} again"
        await every(CHECK_INTERVAL_S, self.restore, name=name, clock=clock)

    async def restore(self) -> None:
        """Listen again if the file is gone. Raises ``HomeUnusable`` and ``OSError``."""
        if self.is_in_place or _is_taken_over(self.home):
            return
        self.home.prepare_run()
        make_room(self.path)
        await self.listen()
        self._identity = _identify(self.path)
        _log.warning("%s was deleted or replaced; the daemon listens there again.", self.path)


def _identify(path: Path) -> Identity | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _is_taken_over(home: Home) -> bool:
    """Return whether another daemon has the lock, because the lock's file was deleted."""
    return home.lock_pid() not in {None, os.getpid()}
