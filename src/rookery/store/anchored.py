"""A database that takes nothing more in once its file is not the one that is found again."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from rookery.model.errors import StoreLost
from rookery.store.database import Database, Work

T = TypeVar("T")

RESCUE = "Keep what it knows:  rookery backup FILE, then rookery down, rookery restore FILE"


class AnchoredDatabase(Database):
    """Notices that its file was deleted or replaced.

    SQLite would go on with the file that it has open, and all that was accepted since would
    be gone with the daemon. What that file holds can still be read, and copied.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._anchor = _identity(path)

    async def write(self, work: Work[T]) -> T:
        def write(db: Connection) -> T:
            # By the writer itself, so that hardly anything lies between this and the commit.
            self._require_its_file()
            return work(db)

        return await super().write(write)

    @property
    def trouble(self) -> str:
        """Why nothing is taken in; empty while all is well."""
        try:
            self._require_its_file()
        except StoreLost as lost:
            return str(lost)
        return ""

    def _require_its_file(self) -> None:
        if _identity(self.path) != self._anchor:
            raise StoreLost(f"{self.path}. {RESCUE}")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
