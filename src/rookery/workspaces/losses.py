"""Find out what would be lost with a worktree or its branch: files, commits, repositories."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from rookery.model.errors import CommandRefused, GitFailed
from rookery.model.workspaces import Workspace, short_id
from rookery.workspaces.commits import adds_nothing
from rookery.workspaces.git import Git, Repository
from rookery.workspaces.hidden_files import (
    is_same,
    list_ignored_repositories,
    list_ignored_work,
    list_overlooked_changes,
)
from rookery.workspaces.inspection import (
    base_tip,
    file_list,
    find_git_dir,
    find_unfinished_operation,
    is_copied,
    is_folder,
    list_changes,
    list_checkouts,
    list_repository_links,
    place_of,
    with_own_repository,
)


async def why_keep(
    git: Git, workspace: Workspace, *, copied: Sequence[str], half_removed: bool = False
) -> str:
    """Return what would be lost with a worktree; empty if it can be removed.

    ``copied`` are files that Rookery has copied into it. In a tree whose removal was
    interrupted, missing files are no change.
    """
    if not await is_folder(workspace.path):
        return ""  # there is nothing left to lose in the folder
    git_dir = await find_git_dir(workspace)
    if not git_dir:
        return await asyncio.to_thread(_why_keep_unknown, Path(workspace.path))
    repository = await git.reading(place_of(workspace, git_dir))
    return (
        await asyncio.to_thread(find_unfinished_operation, Path(git_dir))
        or await _why_repositories(repository, workspace, git_dir)
        or await _why_uncommitted(repository, workspace, copied, half_removed=half_removed)
        or await _why_ignored(repository, workspace, git_dir)
        or await _why_unmerged(repository, workspace)
    )


def _why_keep_unknown(folder: Path) -> str:
    """Return why a folder is kept of which git has no record, as after a new clone."""
    if not any(folder.iterdir()):
        return ""
    return "git does not know it any more, so Rookery cannot tell what is in it"


async def _why_repositories(repository: Repository, workspace: Workspace, git_dir: str) -> str:
    """Return which repositories within a worktree would be lost; empty if there are none."""
    if await asyncio.to_thread(_has_modules, Path(git_dir)):
        return "it has initialised submodules, whose commits could be lost"
    checkouts = [each.path for each in await list_checkouts(repository)]
    if inner := await asyncio.to_thread(_within, Path(workspace.path), checkouts):
        noun = "the worktree" if len(inner) == 1 else "the worktrees"
        return f"{noun} {file_list(inner)} of the same repository would be lost with it"
    links = await list_repository_links(repository)
    found = await asyncio.to_thread(with_own_repository, repository.place.folder, links)
    found += await list_ignored_repositories(repository)
    if not found:
        return ""
    return f"{file_list(found)} with a repository of its own, whose commits could be lost"


def _within(folder: Path, paths: Iterable[str]) -> list[str]:
    """Return those of the folders that are within a folder, relative to it."""
    outer = folder.resolve()
    existing = (Path(each).resolve() for each in paths if Path(each).is_dir())
    inner = (each for each in existing if outer in each.parents)
    return [str(each.relative_to(outer)) for each in inner]


def _has_modules(git_dir: Path) -> bool:
    return any((git_dir / "modules").glob("*"))


async def _why_uncommitted(
    repository: Repository, workspace: Workspace, copied: Sequence[str], *, half_removed: bool
) -> str:
    """Return which files are not committed; empty if there are none."""
    changes = await list_changes(repository, "--untracked-files=all")
    lost = [
        each.path
        for each in changes
        if not (half_removed and each.code == " D")
        and not (each.is_untracked and _is_copy(workspace, each.path, copied))
    ]
    lost += await list_overlooked_changes(repository)
    return f"{file_list(lost)} not committed" if lost else ""


async def _why_ignored(repository: Repository, workspace: Workspace, git_dir: str) -> str:
    """Return which ignored files would be lost; empty if there are none."""
    ignored = await list_ignored_work(repository, workspace, git_dir)
    return f"{file_list(ignored)} ignored by git and only there" if ignored else ""


async def _why_unmerged(repository: Repository, workspace: Workspace) -> str:
    """Return which commits of a worktree are in no other branch; empty if there are none."""
    for name, ref in ((workspace.branch, workspace.ref), ("HEAD", "HEAD")):
        tip = await repository.find("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        own = await _own(repository, workspace, tip) if tip else ()
        number = await repository.text("rev-list", "--count", *own) if own else "0"
        if number == "0":
            continue
        commits = "1 commit" if number == "1" else f"{number} commits"
        if workspace.base_commit not in own[1:]:  # nothing else has it
            return f"{commits} of {name} in no other branch"
        base = workspace.base or short_id(workspace.base_commit)
        return f"{commits} of {name} not in {base}"
    return ""


async def is_merged(repository: Repository, workspace: Workspace, tip: str) -> bool:
    """Return whether nothing of a commit is lost without the workspace's own branch."""
    own = await _own(repository, workspace, tip)
    return not await repository.text("rev-list", "--max-count=1", *own)


async def _own(repository: Repository, workspace: Workspace, tip: str) -> tuple[str, ...]:
    """Return the arguments that select the commits which no other branch has."""
    landed = await find_landed_commit(repository, workspace)
    known = filter(None, (await _find_safe_base(repository, workspace), landed))
    return (tip, "--not", *known, *_other_branches(workspace))


async def _find_safe_base(repository: Repository, workspace: Workspace) -> str:
    """Return the commit from which a branch began; empty if it would be lost with the branch.

    It may be the work of another session, whose branch was deleted because this one had it.
    """
    commit = workspace.base_commit
    heads = await _detached_heads(repository, workspace)
    holders = (*_other_branches(workspace), "--tags", "--remotes", *heads)
    if not await repository.text("rev-list", "--max-count=1", commit, "--not", *holders):
        return commit
    # A base that was rewritten since may have the changes in another commit.
    is_rewritten = await base_tip(repository, workspace) != commit
    return commit if is_rewritten and await _is_in_base(repository, workspace, commit) else ""


async def _detached_heads(repository: Repository, workspace: Workspace) -> list[str]:
    """Return the commits that other working trees have checked out without a branch."""
    own = await asyncio.to_thread(Path(workspace.path).resolve)
    return [
        each.commit
        for each in await list_checkouts(repository)
        if not each.branch
        and each.commit
        and await is_folder(each.path)
        and await asyncio.to_thread(Path(each.path).resolve) != own
    ]


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
