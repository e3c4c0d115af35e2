"""Find git's own folder of a working tree from its files, without running git.

A repository is not trusted: its files may be FIFOs or huge, so every read is limited.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rookery.permissions.project_files import read_text

#: The line of a ``.git`` file, which worktrees and submodules have instead of the folder.
_ELSEWHERE = re.compile(r"gitdir: (.+)")


def git_folder(entry: Path) -> Path | None:
    """Return git's folder, given a ``.git`` folder or file; none if there is no repository."""
    elsewhere = _ELSEWHERE.match(read_text(entry))
    folder = entry.parent / elsewhere[1].strip() if elsewhere else entry
    return folder if (folder / "HEAD").exists() else None


def common_folder(entry: Path) -> Path | None:
    """Return git's folder that all worktrees share, given a ``.git`` folder or file."""
    folder = git_folder(entry)
    if folder is None or folder == entry:
        return folder
    shared = read_text(folder / "commondir").partition("\n")[0].strip()
    return Path(os.path.realpath(folder / shared))
