"""Land a worktree: put its commits into another branch, wholly or not at all.

All commits are made without a working tree, that of uncommitted files included. Only then the
branches are moved, in one step and only if they are still where the work began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rookery.model.errors import CommandRefused, LandingConflict
from rookery.model.workspaces import Workspace
from rookery.workspaces.branch_moves import (
    BranchMove,
    CheckedOutMove,
    move_branches,
    move_with_checkout,
    require_no_checkout,
)
from rookery.workspaces.commits import Merging, adds_nothing, commit_worktree
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import (
    UncommittedFile,
    as_text,
    file_list,
    find_git_dir,
    find_unfinished_operation,
    is_copied,
    is_folder,
    list_changes,
    list_checkouts,
    place_of,
    require_git_dir,
    with_own_repository,
)


class LandMethod(StrEnum):
    """How commits get into a branch."""

    AUTO = "auto"  #: fast-forward if possible, else a merge commit
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


@dataclass(frozen=True, slots=True)
class UncommittedChanges:
    """What a worktree has not committed."""

    files: tuple[str, ...]  #: that are committed before it lands
    left_out: tuple[str, ...]  #: copied files, which are not

    @property
    def stage(self) -> tuple[str, ...]:
        """The git command that adds the files to the index."""
        leave_out = (f":(top,exclude,literal){each}" for each in self.left_out)
        return ("add", "--all", "--", ":/", *leave_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """Commits that have been made and are to become part of a branch."""

    into: str
    old: str  #: the last commit of that branch
    new: str  #: its last commit afterwards; the same if nothing is left to land
    tip: str  #: the last commit of the worktree; with all files if they are committed first
    previous_tip: str  #: where the worktree's branch is now
    commits: int  #: of the worktree that land
    changes: UncommittedChanges
    checkout: str  #: where the branch is checked out; empty if it is not

    @property
    def committed(self) -> tuple[str, ...]:
        """The files that are committed first."""
        files = self.changes.files if self.tip != self.previous_tip else ()
        return tuple(map(as_text, files))


async def prepare(git: Git, workspace: Workspace, request: LandRequest) -> Landing:
    """Make the commits that are to land. Raises ``CommandRefused``, ``LandingConflict``."""
    git_dir = await require_git_dir(workspace)
    place = place_of(workspace, git_dir)
    worktree, repository = await git.changing(place), await git.reading(place)
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
    previous_tip = await _tip_of(repository, workspace.branch)
    checkout = await _clean_checkout(git, repository, into)
    changes = await _changes_to_commit(worktree, request)
    tip = previous_tip
    if changes.files:
        tip = await commit_worktree(worktree, tip, request.commit_message, changes.stage)
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
        previous_tip=previous_tip,
        commits=int(counted),
        changes=changes,
        checkout=checkout,
    )


async def carry_out(git: Git, workspace: Workspace, landing: Landing) -> None:
    """Move both branches. Raises ``GitFailed`` if one was moved meanwhile, or cannot be."""
    moves = []
    if landing.tip != landing.previous_tip:
        await _stage(git, workspace, landing.changes)
        moves.append(BranchMove(workspace.ref, landing.previous_tip, landing.tip))
    reason = f"rookery land {workspace.branch}"
    base = BranchMove(f"refs/heads/{landing.into}", landing.old, landing.new)
    has_moved = landing.new != landing.old
    if has_moved and landing.checkout:
        checked_out = CheckedOutMove(base, landing.checkout)
        await move_with_checkout(git, checked_out, moves, reason)
        return
    common = await git.changing(GitPlace(workspace.repository, workspace.repository))
    if has_moved:
        await require_no_checkout(common, landing.into)
        moves.append(base)
    if moves:
        await move_branches(common, moves, reason)


async def _stage(git: Git, workspace: Workspace, changes: UncommittedChanges) -> None:
    """Add the files to the index: they are in the commit that the branch gets."""
    worktree = await git.changing(place_of(workspace, await find_git_dir(workspace)))
    await worktree.run(*changes.stage)


async def _require_branch(
    worktree: Repository, workspace: Workspace, request: LandRequest
) -> None:
    current = await worktree.find("symbolic-ref", "--quiet", "--short", "HEAD")
    if current != workspace.branch:
        where = f"the branch {as_text(current)}" if current else "a detached HEAD"
        raise CommandRefused(
            f"The worktree of {request.name} is on {where} and not on {workspace.branch}."
            " Check that out there first."
        )
    if request.into == workspace.branch:
        raise CommandRefused(f"{workspace.branch} cannot land in itself.")


async def _tip_of(repository: Repository, branch: str) -> str:
    # Takes the exact name of a ref: `main~0` is none, `rev-parse` would find its commit.
    tip = ("show-ref", "--verify", "--hash", f"refs/heads/{branch}")
    if found := await repository.find(*tip):
        return found
    raise CommandRefused(f"There is no branch {branch!r}. Name another with:  --into BRANCH")


async def _clean_checkout(git: Git, repository: Repository, branch: str) -> str:
    """Return where a branch is checked out. Raises ``CommandRefused`` if there are changes."""
    checkouts = [each for each in await list_checkouts(repository) if each.branch == branch]
    for each in checkouts:
        if not await is_folder(each.path):
            raise CommandRefused(
                f"{branch} is checked out in {each.path}, which is not there. If the folder"
                " was removed, type:  git worktree prune"
            )
        there = await git.changing(GitPlace(each.path))
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


async def _changes_to_commit(worktree: Repository, request: LandRequest) -> UncommittedChanges:
    """Return what is not committed. Refuses if there is anything and no message."""
    changes = await list_changes(worktree, "--untracked-files=all")
    copies = [each.path for each in changes if _is_left_out(each, request.copied)]
    committed = [each for each in changes if each.path not in copies]
    files = tuple(each.path for each in committed)
    if files and not request.commit_message.strip():
        raise CommandRefused(
            f"{request.name} has not committed {file_list(files)}. Commit them first, or commit"
            f" everything now:  rookery land {request.name} --commit MESSAGE"
        )
    if files:
        await _require_no_repositories(worktree, committed)
        await _require_identity(worktree)
    return UncommittedChanges(files, tuple(copies))


async def _require_no_repositories(
    worktree: Repository, changes: Sequence[UncommittedFile]
) -> None:
    """Refuse to commit a new repository: git stores its last commit's id and no file of it."""
    folders = [each.path for each in changes if each.is_untracked and each.path.endswith("/")]
    folder = worktree.place.folder
    if found := await asyncio.to_thread(with_own_repository, folder, folders):
        raise CommandRefused(
            f"{file_list(found)} has a repository of its own, so its files cannot be committed"
            " here. Move it out of the worktree, or remove its .git to commit its files."
        )


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
            if await adds_nothing(repository, merging.onto, merging.tip):
                return merging.onto
            return await merging.merge(f"Merge {request.name} into {into}\n")


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
    """Raise ``CommandRefused`` if git has no user name or e-mail address."""
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
