"""Find the files of repositories that driven sessions report as changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Connection
from typing import TypeAlias

from rookery.model.facts import SessionId
from rookery.model.overlaps import FileInRepository
from rookery.ports.sightings import Reported, TextsReported
from rookery.store import driven_streams, sessions
from rookery.store.database import Database
from rookery.tracking.edited_files import EditedFileFinder

#: Files of one event that are looked at.
MAX_FILES = 100

#: The changed files of each event, by its session and number.
StreamEdits: TypeAlias = Mapping[tuple[SessionId, int], list[FileInRepository]]


@dataclass(frozen=True, slots=True)
class StreamEditFinder:
    database: Database
    files: EditedFileFinder = field(default_factory=EditedFileFinder)

    async def find(self, reports: Iterable[Reported | TextsReported]) -> StreamEdits:
        """Look at the files of events that are not recorded yet, before a transaction."""
        return {
            (each.session, each.number): await self._find(each)
            for each in reports
            if isinstance(each, Reported) and each.edited
        }

    async def _find(self, report: Reported) -> list[FileInRepository]:
        def read(db: Connection) -> str | None:
            if 0 < report.number <= driven_streams.last_number(db, report.session):
                return None
            session = sessions.get(db, report.session)
            return str(Path(session.project_path, session.subdir))

        folder = await self.database.read(read)
        if folder is None:
            return []
        return await self.files.find(folder, report.edited[:MAX_FILES])
