"""Operations on the worktrees of sessions: list them, and remove those that are done."""

from __future__ import annotations

import asyncio
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import CommandRefused, GitFailed
from rookery.model.facts import SessionId, WorkspacePruneRequested
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Nothing, OfSession, Params
from rookery.store import sessions as stored_sessions
from rookery.store import wait_for_change
from rookery.store import workspaces as stored_workspaces
from rookery.workspaces.inspection import BranchPosition, is_folder, open_worktree, position

#: Worktrees that git reads at the same time.
MAX_CONCURRENT_READS = 4

#: Seconds for the keeper to check and remove worktrees; those that take longer follow.
PRUNE_TIMEOUT_S = 20.0


class WorkspaceParams(OfSession):
    timeout: float = Field(
        0.0, ge=0, le=60, description="seconds to wait until its end is dealt with"
    )


class PruneWorkspacesParams(Params):
    names: tuple[str, ...] = Field((), description="of sessions; without, all that are kept")
    force: bool = Field(False, description="with all that is in them; needs the names")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceView:
    """A worktree that Rookery made, and what is in it now."""

    session: SessionId
    name: str  #: of the session
    status: str  #: of the session
    path: str
    repository: str
    branch: str
    base: str
    state: WorkspaceState
    reason: str  #: why it is kept
    created_at: datetime
    in_use: bool  #: a live session works in it
    users: list[str]  #: the names of these sessions, as far as the caller may see them
    ahead: int | None = None  #: commits that its base has not; none if it cannot be read
    behind: int | None = None
    dirty: int | None = None  #: files that are not committed
    problem: str = ""  #: why it cannot be read


@dataclass(frozen=True, slots=True)
class Workspaces:
    root: str
    workspaces: list[WorkspaceView]


@dataclass(frozen=True, slots=True)
class PrunedWorkspace:
    name: str
    path: str
    branch: str
    state: WorkspaceState
    reason: str


@dataclass(frozen=True, slots=True)
class PrunedWorkspaces:
    workspaces: list[PrunedWorkspace]


async def list_workspaces(context: Context, caller: Caller, params: Nothing) -> Workspaces:
    """List the worktrees that Rookery made: whose they are, and what is in them."""

    def read(db: Connection) -> list[_Listed]:
        allowed = reach(context, db, caller, Need.READ)
        return [
            _listed(db, each, stored_sessions.get(db, each.session), allowed)
            for each in stored_workspaces.listed(db)
            if allowed is None or each.session in allowed
        ]

    reads = asyncio.Semaphore(MAX_CONCURRENT_READS)
    found = await context.database.read(read)
    views = await asyncio.gather(*(_view(context, reads, each) for each in found))
    return Workspaces(str(context.worktrees.root), list(views))


@dataclass(frozen=True, slots=True)
class _Listed:
    workspace: Workspace
    session: Session
    in_use: bool
    users: list[str]


def _listed(
    db: Connection, workspace: Workspace, session: Session, allowed: Container[SessionId] | None
) -> _Listed:
    """Read who works in a worktree; ``allowed`` are the sessions that the caller may see."""
    users = stored_workspaces.users(db, workspace.path)
    seen = [each for each in users if allowed is None or each in allowed]
    names = [stored_sessions.get(db, each).name for each in seen]
    return _Listed(workspace, session, bool(users), names)


async def show_workspace(
    context: Context, caller: Caller, params: WorkspaceParams
) -> WorkspaceView:
    """Show the worktree of a session; or wait until it is kept or removed."""
    session = await target(context, caller, params.session, Need.READ)
    if session.workspace is None:
        raise CommandRefused(f"{session.name} has no worktree of its own.")
    path = session.workspace.path
    if params.timeout:
        settled = partial(_is_end_dealt_with, session=session, path=path)
        clock = context.journal.clock
        await wait_for_change.until(
            context.database, settled, seconds=params.timeout, clock=clock
        )

    def read(db: Connection) -> _Listed:
        found = stored_workspaces.of_path(db, path)
        if found is None:
            raise CommandRefused(f"The worktree of {session.name} is not known any more.")
        return _listed(db, found, session, reach(context, db, caller, Need.READ))

    return await _view(context, asyncio.Semaphore(1), await context.database.read(read))


async def _view(context: Context, reads: asyncio.Semaphore, listed: _Listed) -> WorkspaceView:
    workspace, session = listed.workspace, listed.session
    seen, problem = await _look(context, reads, workspace)
    return WorkspaceView(
        session=session.id,
        name=session.name,
        status=session.status,
        path=workspace.path,
        repository=workspace.repository,
        branch=workspace.branch,
        base=workspace.base,
        state=workspace.state,
        reason=workspace.reason,
        created_at=workspace.created_at,
        in_use=listed.in_use,
        users=listed.users,
        ahead=seen.ahead if seen else None,
        behind=seen.behind if seen else None,
        dirty=seen.dirty if seen else None,
        problem=problem,
    )


async def _look(
    context: Context, reads: asyncio.Semaphore, workspace: Workspace
) -> tuple[BranchPosition | None, str]:
    if workspace.state is WorkspaceState.REQUESTED:
        return None, "it is being made"
    if workspace.state is WorkspaceState.REMOVED:
        return None, "it was removed"
    if not await is_folder(workspace.path):
        return None, "its folder is gone"
    async with reads:
        try:
            repository = await open_worktree(context.worktrees.git, workspace)
            return await position(repository, workspace), ""
        except (GitFailed, CommandRefused) as error:
            return None, str(error)


async def prune_workspaces(
    context: Context, caller: Caller, params: PruneWorkspacesParams
) -> PrunedWorkspaces:
    """Remove kept worktrees that have become safe; with force also others, by name."""
    if params.force and not params.names:
        raise CommandRefused("Name what to remove with everything in it:  --force NAME")

    def write(db: Connection) -> PrunedWorkspaces:
        chosen = _chosen(db, params.names)
        for each in chosen:
            _request(db, context, caller, each, force=params.force)
        return PrunedWorkspaces([_pruned(db, each.path) for each in chosen])

    requested = await once(context, caller, PrunedWorkspaces, write)
    paths = [each.path for each in requested.workspaces]
    await wait_for_change.until(
        context.database,
        partial(_are_settled, paths=paths),
        seconds=PRUNE_TIMEOUT_S,
        clock=context.journal.clock,
    )
    return await context.database.read(
        lambda db: PrunedWorkspaces([_pruned(db, path) for path in paths])
    )


def _chosen(db: Connection, names: tuple[str, ...]) -> list[Workspace]:
    """Return the worktrees of these sessions; without names, all that are kept."""
    listed = stored_workspaces.listed(db)
    if not names:
        return [each for each in listed if each.state is WorkspaceState.KEPT]
    known = {each.session: stored_sessions.get(db, each.session).name for each in listed}
    chosen = []
    for name in names:
        found = [each for each in listed if name in {each.session, known[each.session]}]
        if not found:
            raise CommandRefused(f"{name} has no worktree. See:  rookery workspace ls")
        chosen += found
    return chosen


def _request(
    db: Connection, context: Context, caller: Caller, workspace: Workspace, *, force: bool
) -> None:
    """Let a worktree be checked again or removed. Raises ``CommandRefused`` if it is used."""
    if stored_workspaces.is_in_use(db, workspace.path):
        name = stored_sessions.get(db, workspace.session).name
        raise CommandRefused(f"A session works in the worktree of {name}. End it first.")
    if force:
        stored_workspaces.discard(db, workspace.path, reason="")
    else:
        stored_workspaces.recheck(db, workspace.path)
    fact = WorkspacePruneRequested(workspace.session, workspace.path, caller.name, force=force)
    context.journal.append(db, fact)


def _are_settled(db: Connection, paths: list[str]) -> bool:
    settled = {WorkspaceState.KEPT, WorkspaceState.REMOVED}
    found = (stored_workspaces.of_path(db, path) for path in paths)
    return all(each is None or each.state in settled for each in found)


def _is_end_dealt_with(db: Connection, session: Session, path: str) -> bool:
    """Return whether a worktree is settled, or stays because of another session."""
    others = {*stored_workspaces.users(db, path)} - {session.id}
    return bool(others) or _are_settled(db, [path])


def _pruned(db: Connection, path: str) -> PrunedWorkspace:
    found = stored_workspaces.of_path(db, path)
    if found is None:
        raise CommandRefused(f"{path} is no worktree of Rookery.")
    name = stored_sessions.get(db, found.session).name
    return PrunedWorkspace(name, path, found.branch, found.state, found.reason)


async def find_workspace(context: Context, session: Session) -> Workspace | None:
    """Return the worktree of a session; none if it was started in an ordinary folder.

    Raises ``CommandRefused`` if it is not ready, or was removed.
    """
    if session.workspace is None:
        return None
    path = session.workspace.path

    def read(db: Connection) -> Workspace | None:
        return stored_workspaces.of_path(db, path)

    found = await context.database.read(read)
    if found is None or found.state in {WorkspaceState.REMOVED, WorkspaceState.REMOVING}:
        why = f": {found.reason}" if found and found.reason else ""
        raise CommandRefused(f"The worktree of {session.name} was removed{why}.")
    if found.state is WorkspaceState.REQUESTED:
        raise CommandRefused(f"The worktree of {session.name} is not ready yet.")
    return found
