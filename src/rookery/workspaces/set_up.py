"""Prepare a new worktree as configured: copy files into it and run the set-up command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from rookery.model.errors import ProgramFailed
from rookery.model.workspaces import Workspace


def copy_files(workspace: Workspace, paths: tuple[str, ...]) -> list[str]:
    """Copy files from the checkout of the start, and return those that exist there.

    Raises ``ProgramFailed`` if a link of the repository leads out of the worktree.
    """
    if not workspace.source:
        return []
    present = [each for each in paths if Path(workspace.source, each).exists()]
    for each in present:
        source, target = Path(workspace.source, each), Path(workspace.path, each)
        for part in (Path(), *_parts_of(source)):
            _check_inside(workspace, target / part)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    return present


def _parts_of(folder: Path) -> Iterator[Path]:
    """Yield the relative path of everything in a folder, links not followed; none of a file."""
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, each).relative_to(folder) for each in (*folders, *files))


def _check_inside(workspace: Workspace, target: Path) -> None:
    root = Path(workspace.path).resolve()
    if target.is_symlink() or not target.parent.resolve().is_relative_to(root):
        name = target.relative_to(workspace.path)
        raise ProgramFailed(f"{name} is not copied: a link of the repository leads elsewhere.")
