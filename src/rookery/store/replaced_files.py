"""Detect that the files of an open database were deleted or replaced.

SQLite would continue with the old files, and all later writes would be lost with the daemon.
"""

from __future__ import annotations

import os
from pathlib import Path

from rookery.model.errors import StoreLost

#: What the user should do: the content of the open files can still be read.
RESCUE = "Keep what it knows:  rookery backup FILE, then rookery down, rookery restore FILE"


class Files:
    """The identity of a database and its write-ahead log, taken after a first read."""

    def __init__(self, path: Path) -> None:
        # The log has all writes since the last checkpoint. It exists after the first read, and
        # for as long as the database is open.
        log = path.with_name(f"{path.name}-wal")
        self._known = {each: _identity(each) for each in (path, log)}

    def require(self) -> None:
        """Raise ``StoreLost`` unless both files are unchanged."""
        for path, identity in self._known.items():
            if _identity(path) != identity:
                raise StoreLost(f"{path}. {RESCUE}")

    @property
    def lost(self) -> str:
        """Return which file is lost and what to do; empty if none is."""
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
