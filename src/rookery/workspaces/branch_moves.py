"""Move branches in one step, and only if they are still where the work on them began."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePath

from rookery.model.errors import CommandRefused
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import file_list, list_checkouts

#: Updates index and files of a working tree with its branch.
_PROGRAM = "move_checkout.py"

#: Files that git is asked about at once; a command line is limited.
BATCH_FILES = 500


@dataclass(frozen=True, slots=True)
class BranchMove:
    ref: str
    old: str  #: where the branch has to be
    new: str

    @property
    def line(self) -> str:
        """The line for ``git update-ref --stdin``."""
        return f"update {self.ref} {self.new} {self.old}"


@dataclass(frozen=True, slots=True)
class CheckedOutMove:
    """A branch and the working tree that moves with it."""

    move: BranchMove
    folder: str


async def move_branches(common: Repository, moves: list[BranchMove], reason: str) -> None:
    """Move branches without a working tree, all or none. Raises ``GitFailed``."""
    lines = "".join(f"{each.line}\n" for each in moves)
    await common.run("update-ref", "-m", reason, "--stdin", given=os.fsencode(lines))


async def move_with_checkout(
    git: Git, moved: CheckedOutMove, others: list[BranchMove], reason: str
) -> None:
    """Move a branch with its working tree, and further branches; all or none.

    Raises ``GitFailed`` if the working tree has another branch now, or changes in the way.
    """
    move, checkout = moved.move, await git.changing(GitPlace(moved.folder))
    await _check_ignored_files(checkout, move)
    program = str(resources.files("rookery.programs") / _PROGRAM)
    lines = (each.line for each in others)
    await checkout.run_python(program, move.ref, move.old, move.new, reason, *lines)


async def require_no_checkout(repository: Repository, branch: str) -> None:
    """Refuse to move a branch under a working tree that has it."""
    for each in await list_checkouts(repository):
        if each.branch == branch:
            raise CommandRefused(
                f"{branch} was checked out in {each.path} meanwhile, so nothing has landed."
                " Land it again."
            )


async def _check_ignored_files(checkout: Repository, move: BranchMove) -> None:
    """Refuse if ignored files are in the way: git would overwrite them without a word."""
    options = ("-r", "-z", "--name-only", "--no-renames", "--diff-filter=A")
    added = await checkout.words("diff-tree", *options, move.old, move.new)
    root = Path(checkout.place.folder)
    taken = await asyncio.to_thread(_in_the_way, root, added)
    find = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--")
    for start in range(0, len(taken), BATCH_FILES):
        paths = (f":(top,literal){each}" for each in taken[start : start + BATCH_FILES])
        if ignored := await checkout.words(*find, *paths):
            raise CommandRefused(
                f"{file_list(ignored)} in {root} would be overwritten; git ignores it there."
                " Move it away first."
            )


def _in_the_way(root: Path, names: Sequence[str]) -> list[str]:
    """Return the files and folders that exist where others are to be written."""
    found = dict.fromkeys(_obstacle(root, each) for each in names)
    return [each for each in found if each]


def _obstacle(root: Path, name: str) -> str:
    """Return a file where a folder is needed, or what has the name; empty if it is free."""
    folders = [*PurePath(name).parents][-2::-1]
    for each in folders:
        if (root / each).is_symlink() or (root / each).is_file():
            return str(each)
    return name if os.path.lexists(root / name) else ""
