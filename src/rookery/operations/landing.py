"""The operation that lands the commits of a session."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

import anyio
from pydantic import Field

from rookery.model.errors import BadInput, CommandRefused
from rookery.model.facts import SessionId, WorkspaceLanded
from rookery.model.lifecycle import Activity
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.model.workspaces import Workspace
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import OfSession
from rookery.operations.sessions import doing
from rookery.operations.workspaces import find_workspace
from rookery.store import sessions as stored_sessions
from rookery.store import workspaces as stored_workspaces
from rookery.workspaces import landing
from rookery.workspaces.landing import Landing, LandMethod, LandRequest


class LandParams(OfSession):
    method: LandMethod = Field(
        LandMethod.AUTO, description="auto: move the branch if it has not moved, else merge"
    )
    commit: str = Field("", description="commit everything first, with this message")
    into: str = Field("", description="a branch; without, the one from which it began")


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    session: SessionId
    name: str
    branch: str
    into: str
    commit: str  #: the last one of the branch into which it landed
    commits: int  #: that landed; 0 if there was nothing left to land
    committed: list[str]  #: files that were committed first
    checkout: str  #: the working tree that was updated; empty if the branch has none


async def land(context: Context, caller: Caller, params: LandParams) -> Landed:
    """Put the commits of a session into the branch from which it began.

    A repeated request after a crash finds that nothing is left to land.
    """
    session = await target(context, caller, params.session, Need.OWN)
    workspace = await find_workspace(context, session)
    if workspace is None:
        raise BadInput(f"{session.name} has no worktree of its own, so nothing can land.")
    await _require_rest(context, workspace)
    worktrees = context.worktrees
    request = LandRequest(
        name=session.name,
        method=params.method,
        into=params.into,
        commit_message=params.commit,
        copied=worktrees.copied(workspace),
    )
    prepared = await landing.prepare(worktrees.git, workspace, request)
    # A daemon that stops, or a caller that leaves, must not kill git between two files.
    with anyio.CancelScope(shield=True):
        await landing.carry_out(worktrees.git, workspace, prepared)
        landed = await _note(context, caller, session, workspace, prepared)
    return landed  # noqa: RET504 - for mypy, a cancel scope may be left without a result


async def _note(
    context: Context, caller: Caller, session: Session, workspace: Workspace, prepared: Landing
) -> Landed:
    """Store that the commits have landed; the end of the session relies on it."""

    def write(db: Connection) -> Landed:
        path, new = workspace.path, prepared.new
        stored_workspaces.note_landing(db, path, prepared.tip, landed_as=new)
        stored_workspaces.recheck(db, workspace.path)
        fact = WorkspaceLanded(
            workspace.session, workspace.branch, prepared.into, prepared.new, caller.name
        )
        context.journal.append(db, fact)
        return Landed(
            session=session.id,
            name=session.name,
            branch=workspace.branch,
            into=prepared.into,
            commit=prepared.new,
            commits=prepared.commits if prepared.new != prepared.old else 0,
            committed=list(prepared.committed),
            checkout=prepared.checkout,
        )

    return await once(context, caller, Landed, write)


async def _require_rest(context: Context, workspace: Workspace) -> None:
    """Refuse while a session works in a worktree: its next commit would be missing."""

    def read(db: Connection) -> list[Session]:
        users = stored_workspaces.users(db, workspace.path)
        return [stored_sessions.get(db, each) for each in users]

    for each in await context.database.read(read):
        if each.activity is not Activity.IDLE:
            raise CommandRefused(
                f"{each.name} {doing(each)}. Wait until it is idle:  rookery wait {each.name}"
            )
