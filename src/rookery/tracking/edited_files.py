"""Find the repository of files that agents have changed, without running git."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore

from rookery.model.overlaps import FileInRepository
from rookery.permissions.path_resolver import MAX_THREADS, RESOLVE_TIMEOUT_S, in_daemon_thread

#: Folders above a file that are searched for a repository.
MAX_LEVELS = 64

#: Bytes of a ``.git`` file and of the file that names the common folder.
MAX_LINK_BYTES = 4_096


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
            if common := _common_folder(folder / ".git"):
                return FileInRepository(str(common), str(real.relative_to(folder)))
    except (OSError, ValueError):
        return None
    return None


def _common_folder(entry: Path) -> Path | None:
    """Return git's folder that all worktrees share, given a ``.git`` folder or file."""
    if entry.is_dir():
        return entry if (entry / "HEAD").exists() else None
    if not entry.is_file():
        return None
    named = _first_line(entry).removeprefix("gitdir: ")
    git_dir = entry.parent / named
    if not named or not (git_dir / "HEAD").exists():
        return None
    common = git_dir / "commondir"
    folder = git_dir / _first_line(common) if common.is_file() else git_dir
    return Path(os.path.realpath(folder))


def _first_line(file: Path) -> str:
    with file.open("rb") as opened:
        return os.fsdecode(opened.read(MAX_LINK_BYTES)).partition("\n")[0].strip()
