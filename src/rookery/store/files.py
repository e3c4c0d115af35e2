"""Notice that the files of an open database were deleted or replaced.

SQLite would go on with them, and all that was accepted since would be gone with the daemon.
"""

from __future__ import annotations

import os
from pathlib import Path

from rookery.model.errors import StoreLost

#: What to do then: what the files held can still be read.
RESCUE = "Keep what it knows:  rookery backup FILE, then rookery down, rookery restore FILE"


class Files:
    """A database and its write-ahead log, as they are when something was read from them."""

    def __init__(self, path: Path) -> None:
        # The log has all that was accepted since the last checkpoint. It exists once something
        # was read, and stays for as long as the database is open.
        log = path.with_name(f"{path.name}-wal")
        self._known = {each: _identity(each) for each in (path, log)}

    def require(self) -> None:
        """Raise ``StoreLost`` unless both are still there."""
        for path, identity in self._known.items():
            if _identity(path) != identity:
                raise StoreLost(f"{path}. {RESCUE}")

    @property
    def lost(self) -> str:
        """Say what is lost, and what to do; empty if nothing is."""
        try:
            self.require()
        except StoreLost as lost:
            return str(lost)
        return ""


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - at every commit, and twice as fast
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
