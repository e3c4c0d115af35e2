"""Find out what is in a worktree: its place, its changes, and how far its base has moved."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.model.errors import CommandRefused, GitFailed
from rookery.model.workspaces import Workspace
from rookery.workspaces.filtered_files import find_unchanged_files
from rookery.workspaces.git import Git, GitPlace, Repository

#: Files in git's folder of a worktree while an operation is not finished, and its name.
_UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}

#: Bytes of the list of all files of a repository.
MAX_LIST_BYTES = 1_000_000_000

#: Names that a message lists one by one.
MAX_NAMED_FILES = 3


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree of a repository."""

    path: str
    branch: str  #: empty if its HEAD is detached
    commit: str  #: that its HEAD has; empty for a bare repository


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
    found, path, branch, commit = [], "", "", ""
    output = await repository.run("worktree", "list", "--porcelain", "-z")
    for line in output.stdout.decode(errors="surrogateescape").split("\0"):
        name, _, value = line.partition(" ")
        match name:
            case "worktree":
                path, branch, commit = value, "", ""
            case "HEAD":
                commit = value
            case "branch":
                branch = value.removeprefix("refs/heads/")
            case "" if path:
                found.append(Checkout(path, branch, commit))
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


async def list_repository_links(repository: Repository) -> list[str]:
    """Return the entries of the index that stand for other repositories, as of submodules."""
    listed = await repository.run("ls-files", "--stage", "-z", max_bytes=MAX_LIST_BYTES)
    links = (each for each in listed.stdout.split(b"\0") if each.startswith(b"160000 "))
    return [os.fsdecode(each.partition(b"\t")[2]) for each in links]


def with_own_repository(folder: str, paths: Iterable[str]) -> list[str]:
    """Return those of the paths in a folder at which there is a repository."""
    return [each for each in paths if os.path.lexists(Path(folder, each, ".git"))]


async def find_git_dir(workspace: Workspace) -> str:
    """Return git's own folder of a worktree; empty if git does not know the worktree.

    Raises ``GitFailed`` if that cannot be told.
    """
    try:
        return await asyncio.to_thread(_find_git_dir, workspace)
    except OSError as error:
        raise GitFailed(f"git's records of worktrees cannot be read: {error}") from error


def _find_git_dir(workspace: Workspace) -> str:
    # Git records the real path; the folder of all worktrees may be reached by a link.
    path = Path(workspace.path)
    expected = path.parent.resolve() / path.name
    for each in _list_records(Path(workspace.repository, "worktrees")):
        try:
            text = (each / "gitdir").read_text(encoding="utf-8", errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            continue
        named = each / text.strip()  # relative with `worktree.useRelativePaths`
        if expected in {named.parent, named.parent.resolve()} and named.name == ".git":
            return str(each)
    return ""


def _list_records(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


async def is_folder(path: str) -> bool:
    return await asyncio.to_thread(Path(path).is_dir)


def find_unfinished_operation(git_dir: Path) -> str:
    """Return which operation of git is not finished; empty if there is none."""
    for name, operation in _UNFINISHED.items():
        if (git_dir / name).exists():
            return f"{operation} is not finished"
    return ""


def place_of(workspace: Workspace, git_dir: str) -> GitPlace:
    """Return the place of a worktree, whatever its ``.git`` file says."""
    return GitPlace(workspace.path, git_dir, workspace.path)


async def open_worktree(git: Git, workspace: Workspace) -> Repository:
    """Return a worktree to read. Raises ``CommandRefused`` if it is gone."""
    return await git.reading(place_of(workspace, await require_git_dir(workspace)))


async def require_git_dir(workspace: Workspace) -> str:
    """Return git's own folder of a worktree. Raises ``CommandRefused`` if it is gone."""
    if not await is_folder(workspace.path):
        raise CommandRefused(f"The worktree {workspace.path} is gone.")
    if git_dir := await find_git_dir(workspace):
        return git_dir
    raise CommandRefused(
        f"Git does not know the worktree {workspace.path} any more. In its repository, try:"
        f"  git worktree repair {shlex.quote(workspace.path)}"
    )


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


def is_copied(path: str, copied: Iterable[str]) -> bool:
    """Return whether a path is one of the copied files, or in a copied folder."""
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in copied)


def as_text(name: str) -> str:
    """Return the name of a file or branch with bytes that are not UTF-8 escaped.

    Neither JSON nor SQLite takes a name as ``os.fsdecode`` returns it.
    """
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def file_list(paths: Sequence[str]) -> str:
    """Return the first files by name, and the number of the others."""
    shown = ", ".join(map(as_text, paths[:MAX_NAMED_FILES]))
    more = len(paths) - MAX_NAMED_FILES
    return f"{shown} and {more} more" if more > 0 else shown
