"""Find the repository of files that agents have changed, without running git."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore

from rookery.model.overlaps import FileInRepository
from rookery.permissions.path_resolver import MAX_THREADS, RESOLVE_TIMEOUT_S, in_daemon_thread
from rookery.tracking.git_folders import common_folder

#: Folders above a file that are searched for a repository.
MAX_LEVELS = 64


@dataclass(frozen=True, slots=True)
class EditedFileFinder:
    """Looks in threads of its own, which may hang on a dead mount."""

    timeout_s: float = RESOLVE_TIMEOUT_S
    _threads: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_THREADS))

    async def find(self, folder: str, paths: Iterable[str]) -> list[FileInRepository]:
        """Return the files that are in a repository; relative paths begin at a folder."""
        whole = (os.path.join(folder, each) for each in paths)  # noqa: PTH118 - keeps ".."
        absolute = [each for each in whole if each.startswith("/")]
        if not absolute:
            return []
        found = await in_daemon_thread(
            lambda: [file for each in absolute if (file := find_in_repository(each))],
            threads=self._threads,
            timeout_s=self.timeout_s,
        )
        return found or []


def find_in_repository(path: str) -> FileInRepository | None:
    """Return the repository of a file, and its path there; none outside of repositories."""
    try:
        file = Path(path)
        real = Path(os.path.realpath(file.parent)) / file.name
        for folder in [*real.parents][:MAX_LEVELS]:
            if common := common_folder(folder / ".git"):
                return FileInRepository(str(common), str(real.relative_to(folder)))
    except (OSError, ValueError):
        return None
    return None
