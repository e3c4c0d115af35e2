"""Find out what is in a worktree: changes, commits, and whether removing it loses any."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import CommandRefused, GitFailed
from rookery.model.workspaces import Workspace, short_id
from rookery.workspaces.commits import adds_nothing
from rookery.workspaces.filtered_files import find_unchanged_files
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.hidden_files import (
    is_same,
    list_ignored_work,
    list_overlooked_changes,
)

#: Files in git's folder of a worktree while an operation is not finished, and its name.
_UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}

#: Names that a message lists one by one.
MAX_NAMED_FILES = 3


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree of a repository."""

    path: str
    branch: str  #: empty if its HEAD is detached


@dataclass(frozen=True, slots=True)
class UncommittedFile:
    """A file that is not committed."""

    code: str  #: two letters, as ``git status`` prints them
    path: str

    @property
    def is_untracked(self) -> bool:
        return self.code == "??"


@dataclass(frozen=True, slots=True)
class BranchPosition:
    """How far a worktree's branch and its base have moved apart."""

    ahead: int
    behind: int
    dirty: int  #: files that are not committed


async def list_checkouts(repository: Repository) -> list[Checkout]:
    """Return the working trees of a repository with the branches that they have."""
    found, path, branch = [], "", ""
    output = await repository.run("worktree", "list", "--porcelain", "-z")
    for line in output.stdout.decode(errors="surrogateescape").split("\0"):
        name, _, value = line.partition(" ")
        match name:
            case "worktree":
                path, branch = value, ""
            case "branch":
                branch = value.removeprefix("refs/heads/")
            case "" if path:
                found.append(Checkout(path, branch))
                path = ""
            case _:
                pass
    return found


async def list_changes(repository: Repository, *options: str) -> list[UncommittedFile]:
    """Return the files that are not committed."""
    words = await repository.words(
        "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty", *options
    )
    found = [UncommittedFile(each[:2], each[3:]) for each in words]
    modified = [each.path for each in found if each.code == " M"]
    unchanged = await find_unchanged_files(repository, modified)
    return [each for each in found if each.code != " M" or each.path not in unchanged]


async def count_changes(repository: Repository) -> int:
    return len(await list_changes(repository, "--untracked-files=normal"))


async def find_git_dir(workspace: Workspace) -> str:
    """Return git's own folder of a worktree; empty if git does not know the worktree."""
    return await asyncio.to_thread(_find_git_dir, workspace)


def _find_git_dir(workspace: Workspace) -> str:
    expected = Path(workspace.path, ".git")
    for each in sorted(Path(workspace.repository, "worktrees").glob("*/gitdir")):
        try:
            named = Path(each.read_text(encoding="utf-8", errors="surrogateescape").strip())
        except OSError:
            continue
        if named == expected or named.parent.resolve() / ".git" == expected:
            return str(each.parent)
    return ""


async def is_folder(path: str) -> bool:
    return await asyncio.to_thread(Path(path).is_dir)


def find_unfinished_operation(git_dir: Path) -> str:
    """Return which operation of git is not finished; empty if there is none."""
    for name, operation in _UNFINISHED.items():
        if (git_dir / name).exists():
            return f"{operation} is not finished"
    return ""


def _has_submodules(git_dir: Path) -> bool:
    return any((git_dir / "modules").glob("*"))


def place_of(workspace: Workspace, git_dir: str) -> GitPlace:
    """Return the place of a worktree, whatever its ``.git`` file says."""
    return GitPlace(workspace.path, git_dir, workspace.path)


async def open_worktree(git: Git, workspace: Workspace) -> Repository:
    """Return a worktree to read. Raises ``CommandRefused`` if it is gone."""
    git_dir = await find_git_dir(workspace)
    if not git_dir or not await is_folder(workspace.path):
        raise CommandRefused(f"The worktree {workspace.path} is gone.")
    return await git.reading(place_of(workspace, git_dir))


async def position(repository: Repository, workspace: Workspace) -> BranchPosition:
    """Return how many commits a worktree and its base have that the other has not."""
    base = await base_tip(repository, workspace)
    counted = await repository.text("rev-list", "--left-right", "--count", f"{base}...HEAD")
    behind, ahead = (int(each) for each in counted.split())
    dirty = await list_changes(repository, "--untracked-files=all")
    return BranchPosition(ahead, behind, len(dirty))


async def base_tip(repository: Repository, workspace: Workspace) -> str:
    """Return the last commit of the base; the first commit if there is no such branch."""
    if not workspace.base:
        return workspace.base_commit
    ref = f"refs/heads/{workspace.base}^{{commit}}"
    found = await repository.find("rev-parse", "--verify", "--quiet", ref)
    return found or workspace.base_commit


async def why_keep(
    git: Git, workspace: Workspace, *, copied: Sequence[str], half_removed: bool = False
) -> str:
    """Return what would be lost with a worktree; empty if it can be removed.

    ``copied`` are files that Rookery has copied into it. In a tree whose removal was
    interrupted, missing files are no change.
    """
    git_dir = await find_git_dir(workspace)
    if not git_dir or not await is_folder(workspace.path):
        return ""  # there is nothing left to lose in the folder
    if operation := await asyncio.to_thread(find_unfinished_operation, Path(git_dir)):
        return operation
    if await asyncio.to_thread(_has_submodules, Path(git_dir)):
        return "it has initialised submodules, whose commits could be lost"
    repository = await git.reading(place_of(workspace, git_dir))
    changes = await list_changes(repository, "--untracked-files=all")
    lost = [
        each.path
        for each in changes
        if not (half_removed and each.code == " D")
        and not (each.is_untracked and _is_copy(workspace, each.path, copied))
    ]
    lost += await list_overlooked_changes(repository)
    if lost:
        return f"{file_list(lost)} not committed"
    if ignored := await list_ignored_work(repository, workspace, git_dir):
        return f"{file_list(ignored)} ignored by git and only there"
    return await _why_unmerged(repository, workspace)


async def _why_unmerged(repository: Repository, workspace: Workspace) -> str:
    """Return which commits of a worktree are in no other branch; empty if there are none."""
    for name, ref in ((workspace.branch, workspace.ref), ("HEAD", "HEAD")):
        tip = await repository.find("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if tip and not await is_merged(repository, workspace, tip):
            own = await _own(repository, workspace, tip)
            number = await repository.text("rev-list", "--count", *own)
            where = workspace.base or short_id(workspace.base_commit)
            commits = "1 commit" if number == "1" else f"{number} commits"
            return f"{commits} of {name} not in {where}"
    return ""


async def is_merged(repository: Repository, workspace: Workspace, tip: str) -> bool:
    """Return whether nothing of a commit is lost without the workspace's own branch."""
    own = await _own(repository, workspace, tip)
    return not await repository.text("rev-list", "--max-count=1", *own)


async def _own(repository: Repository, workspace: Workspace, tip: str) -> tuple[str, ...]:
    """Return the arguments that select the commits which no other branch has."""
    landed = await find_landed_commit(repository, workspace)
    known = filter(None, (workspace.base_commit, landed))
    return (tip, "--not", *known, *_other_branches(workspace))


def _other_branches(workspace: Workspace) -> tuple[str, str]:
    return (f"--exclude={workspace.branch}", "--branches")


async def find_landed_commit(repository: Repository, workspace: Workspace) -> str:
    """Return the branch's last commit that has landed; empty if that was taken back.

    A landing counts while another branch has the commit that it led to. If the base was
    rewritten, it counts while merging once more would change nothing.
    """
    if not workspace.landed_commit:
        return ""
    is_there = await _is_elsewhere(repository, workspace, workspace.landed_as)
    if is_there or await _is_in_base(repository, workspace, workspace.landed_commit):
        return workspace.landed_commit
    return ""


async def _is_elsewhere(repository: Repository, workspace: Workspace, commit: str) -> bool:
    """Return whether another branch than the workspace's own has a commit."""
    if not await repository.find("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return False
    others = _other_branches(workspace)
    return not await repository.text("rev-list", "--max-count=1", commit, "--not", *others)


async def _is_in_base(repository: Repository, workspace: Workspace, commit: str) -> bool:
    """Return whether the base has all changes of a commit."""
    base = await base_tip(repository, workspace)
    try:
        return await adds_nothing(repository, base, commit)
    except (GitFailed, CommandRefused):  # a conflict, or git is too old to merge so
        return False


def _is_copy(workspace: Workspace, path: str, copied: Iterable[str]) -> bool:
    """Return whether a file is one that Rookery has copied, and is unchanged."""
    if not workspace.source or not is_copied(path, copied):
        return False
    return is_same(Path(workspace.source, path), Path(workspace.path, path))


def is_copied(path: str, copied: Iterable[str]) -> bool:
    """Return whether a path is one of the copied files, or in a copied folder."""
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in copied)


def file_list(paths: Sequence[str]) -> str:
    """Return the first files by name, and the number of the others."""
    shown = ", ".join(paths[:MAX_NAMED_FILES])
    more = len(paths) - MAX_NAMED_FILES
    return f"{shown} and {more} more" if more > 0 else shown
