"""Land a worktree: put its commits into another branch, wholly or not at all.

All commits are made without a working tree. Only then the branch is moved, in one step and
only if it is still where the work began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rookery.model.errors import CommandRefused, LandingConflict
from rookery.model.workspaces import Workspace
from rookery.workspaces.commits import Merging, merged_tree
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import (
    UncommittedFile,
    file_list,
    find_git_dir,
    find_unfinished_operation,
    is_copied,
    is_folder,
    list_changes,
    list_checkouts,
    place_of,
)

#: Options that move a branch and do nothing else, whatever ``branch.NAME.mergeOptions`` says.
_MOVE_ONLY = ("--ff-only", "--no-squash", "--no-verify-signatures", "--no-autostash", "--quiet")


class LandMethod(StrEnum):
    """How commits get into a branch."""

    AUTO = "auto"  #: move the branch if it has not moved itself, else merge
    MERGE = "merge"  #: always a merge commit
    SQUASH = "squash"  #: one commit
    REBASE = "rebase"  #: a copy of each commit


@dataclass(frozen=True, slots=True, kw_only=True)
class LandRequest:
    name: str  #: of the session
    method: LandMethod = LandMethod.AUTO
    into: str = ""  #: empty for the branch from which the worktree began
    commit_message: str = ""  #: commit everything first; empty to refuse instead
    copied: tuple[str, ...] = ()  #: files that Rookery has copied: they are not committed


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Commits that have been made and are to become part of a branch."""

    into: str
    old: str  #: the last commit of that branch
    new: str  #: its last commit afterwards; the same if nothing is left to land
    tip: str  #: the last commit of the worktree
    commits: int  #: of the worktree that land
    committed: tuple[str, ...]  #: files that were committed first
    checkout: str  #: where the branch is checked out; empty if it is not


async def prepare(git: Git, workspace: Workspace, request: LandRequest) -> Landing:
    """Make the commits that are to land. Raises ``CommandRefused``, ``LandingConflict``."""
    git_dir = await find_git_dir(workspace)
    if not git_dir or not await is_folder(workspace.path):
        raise CommandRefused(f"The worktree of {request.name} is gone: {workspace.path}.")
    place = place_of(workspace, git_dir)
    worktree, repository = git.changing(place), await git.reading(place)
    if why := await asyncio.to_thread(find_unfinished_operation, Path(git_dir)):
        raise CommandRefused(f"In the worktree of {request.name}, {why}.")
    await _require_branch(worktree, workspace, request)
    into = request.into or workspace.base
    if not into:
        raise CommandRefused(
            f"{request.name} was started from a commit, not from a branch. Name a branch:"
            "  --into BRANCH"
        )
    old = await _tip_of(repository, into)
    checkout = await _clean_checkout(git, repository, into)
    committed = await _commit_all(worktree, workspace, request)
    tip = await _tip_of(repository, workspace.branch)
    try:
        new = await _new_commit(repository, Merging(repository, old, tip), request, into)
    except LandingConflict as conflict:
        advice = f"Let {request.name} merge {into} into its branch, then land it again."
        raise LandingConflict(f"{conflict.args[0]} {advice}", **conflict.details) from conflict
    counted = await repository.text("rev-list", "--count", f"{old}..{tip}")
    return Landing(
        into=into,
        old=old,
        new=new,
        tip=tip,
        commits=int(counted),
        committed=committed,
        checkout=checkout,
    )


async def carry_out(git: Git, workspace: Workspace, landing: Landing) -> None:
    """Move the branch. Raises ``GitFailed`` if it was moved meanwhile, or cannot be."""
    if landing.new == landing.old:
        return
    if landing.checkout:
        checkout = git.changing(GitPlace(landing.checkout))
        await checkout.run("merge", *_MOVE_ONLY, landing.new)
        return
    common = git.changing(GitPlace(workspace.repository, workspace.repository))
    ref, note = f"refs/heads/{landing.into}", f"rookery land {workspace.branch}"
    await common.run("update-ref", "-m", note, ref, landing.new, landing.old)


async def _require_branch(
    worktree: Repository, workspace: Workspace, request: LandRequest
) -> None:
    current = await worktree.find("symbolic-ref", "--quiet", "--short", "HEAD")
    if current != workspace.branch:
        where = f"the branch {current}" if current else "a detached HEAD"
        raise CommandRefused(
            f"The worktree of {request.name} is on {where} and not on {workspace.branch}."
            " Check that out there first."
        )
    if request.into == workspace.branch:
        raise CommandRefused(f"{workspace.branch} cannot land in itself.")


async def _tip_of(repository: Repository, branch: str) -> str:
    ref = f"refs/heads/{branch}^{{commit}}"
    if tip := await repository.find("rev-parse", "--verify", "--quiet", ref):
        return tip
    raise CommandRefused(f"There is no branch {branch!r}. Name another with:  --into BRANCH")


async def _clean_checkout(git: Git, repository: Repository, branch: str) -> str:
    """Return where a branch is checked out. Raises ``CommandRefused`` if there are changes."""
    checkouts = [each for each in await list_checkouts(repository) if each.branch == branch]
    for each in checkouts:
        if not await is_folder(each.path):
            raise CommandRefused(
                f"{branch} is checked out in {each.path}, which is not there. If that was"
                " removed, type:  git worktree prune"
            )
        there = git.changing(GitPlace(each.path))
        if changes := await list_changes(there, "--untracked-files=no"):
            files = file_list([each.path for each in changes])
            raise CommandRefused(
                f"{branch} is checked out in {each.path}, which has uncommitted changes:"
                f" {files}. Commit or stash them first."
            )
        git_dir = await there.text("rev-parse", "--absolute-git-dir")
        if why := await asyncio.to_thread(find_unfinished_operation, Path(git_dir)):
            raise CommandRefused(f"{branch} is checked out in {each.path}, where {why}.")
    return checkouts[0].path if checkouts else ""


async def _commit_all(
    worktree: Repository, workspace: Workspace, request: LandRequest
) -> tuple[str, ...]:
    """Commit all changes if a message was given; return the files. Refuses without one."""
    changes = await list_changes(worktree, "--untracked-files=all")
    copies = [each.path for each in changes if _is_left_out(each, request.copied)]
    files = tuple(each.path for each in changes if each.path not in copies)
    if not files:
        return ()
    if not request.commit_message.strip():
        raise CommandRefused(
            f"{request.name} has not committed {file_list(files)}. Let it commit, or commit"
            f" everything now:  rookery land {request.name} --commit MESSAGE"
        )
    await _require_identity(worktree)
    leave_out = (f":(top,exclude,literal){each}" for each in copies)
    await worktree.run("add", "--all", "--", ":/", *leave_out)
    message = request.commit_message.encode(errors="replace")
    await worktree.run("commit", "--quiet", "--no-verify", "-F", "-", given=message)
    return files


def _is_left_out(file: UncommittedFile, copied: Sequence[str]) -> bool:
    return file.is_untracked and is_copied(file.path, copied)


async def _new_commit(
    repository: Repository, merging: Merging, request: LandRequest, into: str
) -> str:
    """Return the commit to which the branch moves."""
    is_known = ("merge-base", "--is-ancestor")
    if await repository.is_true(*is_known, merging.tip, merging.onto):
        return merging.onto  # it has landed before
    can_move = await repository.is_true(*is_known, merging.onto, merging.tip)
    if can_move and request.method in {LandMethod.AUTO, LandMethod.REBASE}:
        return merging.tip
    await _require_identity(repository)
    match request.method:
        case LandMethod.SQUASH:
            return await merging.squash(await _squash_message(repository, merging, request))
        case LandMethod.REBASE:
            return await merging.rebase()
        case _:
            if await _adds_nothing(repository, merging):
                return merging.onto
            return await merging.merge(f"Merge {request.name} into {into}\n")


async def _adds_nothing(repository: Repository, merging: Merging) -> bool:
    """Return whether the branch has all changes already, as after a squash."""
    tree = await merged_tree(repository, merging.onto, merging.tip)
    return tree == await repository.text("rev-parse", f"{merging.onto}^{{tree}}")


async def _squash_message(
    repository: Repository, merging: Merging, request: LandRequest
) -> str:
    if request.commit_message.strip():
        return request.commit_message
    log = ("log", "--reverse", "--no-merges", "--format=%s", f"{merging.onto}..{merging.tip}")
    subjects = (await repository.text(*log)).splitlines()
    if len(subjects) == 1:
        return f"{subjects[0]}\n"
    return "\n".join([f"Land {request.name}", "", *(f"- {each}" for each in subjects), ""])


async def _require_identity(repository: Repository) -> None:
    """Refuse if git does not know the name and the address of the user."""
    known = repository.git.environment
    for key, variable in (
        ("user.name", "GIT_AUTHOR_NAME"),
        ("user.email", "GIT_AUTHOR_EMAIL"),
    ):
        if not known.get(variable) and not await repository.find("config", key):
            raise CommandRefused(
                f"Git does not know your {key.removeprefix('user.')}, which a commit needs."
                f" Type:  git config --global {key} …"
            )
