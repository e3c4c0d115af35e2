"""Read the Git branches of project folders from their files, without running git."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rookery.permissions.project_files import read_text, up_to_root
from rookery.tracking.git_folders import git_folder

_BRANCH = re.compile(r"ref: refs/heads/(\S.*)")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")

#: Characters shown of the commit of a detached head.
COMMIT_CHARACTERS = 7


def branches_of(folders: Iterable[str]) -> dict[str, str]:
    """Return the branch of each folder that is in a repository. Reads files."""
    found = ((folder, branch_of(folder)) for folder in folders)
    return {folder: branch for folder, branch in found if branch}


def branch_of(folder: str) -> str:
    """Return the branch of a folder; of a detached head, the start of its commit."""
    head = _head(folder)
    if branch := _BRANCH.fullmatch(head):
        return branch[1]
    return head[:COMMIT_CHARACTERS] if _COMMIT.fullmatch(head) else ""


def _head(folder: str) -> str:
    """Return the text of the HEAD file of a folder's repository; empty if there is none."""
    with suppress(OSError, ValueError):
        *_, root = up_to_root(Path(folder))
        if git := git_folder(root / ".git"):
            return read_text(git / "HEAD").strip()
    return ""
