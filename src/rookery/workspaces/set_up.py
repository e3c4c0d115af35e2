"""Prepare a new worktree as configured: copy files into it and run the set-up command."""

from __future__ import annotations

import shutil
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
        target = Path(workspace.path, each)
        _check_inside(workspace, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = Path(workspace.source, each)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    return present


def _check_inside(workspace: Workspace, target: Path) -> None:
    root = Path(workspace.path).resolve()
    if target.is_symlink() or not target.parent.resolve().is_relative_to(root):
        name = target.relative_to(workspace.path)
        raise ProgramFailed(f"{name} is not copied: a link of the repository leads elsewhere.")
