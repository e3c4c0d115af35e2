"""Check whether a removed worktree can be made again. It changes nothing."""

from __future__ import annotations

from dataclasses import replace

from rookery.model.errors import CommandRefused
from rookery.model.workspaces import Workspace, WorkspaceState, short_id
from rookery.workspaces.git import Git, GitPlace, Repository
from rookery.workspaces.inspection import is_folder, list_checkouts

#: What a person can do instead.
_START_ANOTHER = "Start another session:  rookery start --worktree"


async def plan_restoring(git: Git, removed: Workspace) -> Workspace:
    """Return the row with which a worktree is made again, at its path and on its branch.

    Raises ``CommandRefused`` if git lacks the branch and its last commit.
    """
    if not await is_folder(removed.repository):
        raise CommandRefused(
            f"The worktree {removed.path} was removed, and its repository {removed.repository}"
            f" is gone. {_START_ANOTHER}"
        )
    repository = await git.reading(GitPlace(removed.repository, removed.repository))
    await _check_not_checked_out(repository, removed)
    return replace(
        removed,
        state=WorkspaceState.REQUESTED,
        reason="",
        is_discarded=False,
        process="",
        last_commit=await _last_commit(repository, removed),
    )


async def _last_commit(repository: Repository, removed: Workspace) -> str:
    """Return the last commit of the branch, or the one that it had when it was deleted."""
    tip = await find_commit(repository, removed.ref)
    if tip:
        return tip
    # Rows that were written before the last commit was stored have only the other two.
    last = removed.last_commit or removed.landed_commit or removed.base_commit
    if not removed.is_new_branch:
        raise CommandRefused(
            f"The worktree {removed.path} was removed, and its branch {removed.branch} is gone."
            f" Create the branch, then resume again:  git branch {removed.branch}"
            f" {short_id(last)}"
        )
    if not await find_commit(repository, last):
        raise CommandRefused(
            f"The worktree {removed.path} was removed, and its branch {removed.branch} and its"
            f" last commit {short_id(last)} are gone. {_START_ANOTHER}"
        )
    return last


async def find_commit(repository: Repository, name: str) -> str:
    """Return the id of a commit; empty if there is none."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    return await repository.find(*verify, f"{name}^{{commit}}")


async def _check_not_checked_out(repository: Repository, removed: Workspace) -> None:
    for checkout in await list_checkouts(repository):
        is_other = checkout.path != removed.path and await is_folder(checkout.path)
        if checkout.branch == removed.branch and is_other:
            raise CommandRefused(
                f"The worktree {removed.path} was removed, and its branch {removed.branch} is"
                f" checked out in {checkout.path}. Switch that checkout to another branch, then"
                " resume again."
            )
