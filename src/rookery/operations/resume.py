"""Operations that continue a conversation that has ended, or branch off one."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from pydantic import Field

from rookery.model.errors import BadInput, CommandRefused, Forbidden, SessionUnknown
from rookery.model.money import in_dollars
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import TMUX, NativeId, Session
from rookery.model.workspaces import Workspace, WorkspaceState
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.operation import OfSession
from rookery.operations.start import AUTO, DrivingParams, Origin, StartParams, start
from rookery.sessions.start_plans import Conversation
from rookery.store import wait_for_change, workspaces
from rookery.workspaces.inspection import is_folder

#: The ids of agents' conversations. They go on a command line, so no other text is accepted.
_NATIVE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[0-9A-Za-z]{8,60}")

#: Seconds to wait for a worktree that is being removed, before it can be made again.
REMOVAL_TIMEOUT_S = 20.0

#: The prefix of placeholders for a native id until the agent reports it.
_SYNTHETIC = "tmux_"


class ResumeParams(OfSession, DrivingParams):
    fork: bool = Field(
        False, description="start a branch of the conversation; also of a live session"
    )
    prompt: str = ""
    name: str = ""
    listen: bool = Field(False, description="tell the session that asks when it is done")
    agent: str = Field("", description="the agent of a conversation that Rookery does not know")
    project: str = Field("", description="the folder of such a conversation")
    environment: dict[str, str] = Field(default_factory=dict)
    runtime: str = Field("", description="where it goes on; without, where it was")
    model: str = Field("", description="without, the one that it had")
    origin: Origin = ""


def is_native_id(text: str | None) -> bool:
    """Return whether a text is the id of an agent's conversation."""
    return text is not None and _NATIVE.fullmatch(text) is not None


async def resume(context: Context, caller: Caller, params: ResumeParams) -> Session:
    """Continue the conversation of an ended session, or start a branch of one."""
    try:
        old = await target(context, caller, params.session, Need.READ)
    except SessionUnknown:
        if not _NATIVE.fullmatch(params.session):
            raise
        return await _resume_unknown(context, caller, params)
    if params.agent or params.project:
        raise BadInput(f"{old.name} is known; it keeps its agent and its project.")
    if old.native_id is None or old.native_id.startswith(_SYNTHETIC):
        raise CommandRefused(f"{old.name} has no turn that {old.agent} could continue.")
    if not is_native_id(old.native_id):  # a hook may have reported anything
        raise CommandRefused(f"{old.native_id[:80]!r} is not a conversation of {old.agent}.")
    conversation = Conversation(
        native_id=old.native_id,
        is_branch=params.fork,
        session=old.id,
        name=old.name,
        workspace=old.workspace,
        restored=await _worktree_to_restore(context, caller, old),
    )
    runtime = params.runtime or _runtime_of(old)
    asked = _as_asked(params)
    if asked["budget_usd"] is None and old.budget and _reports_cost(context, old, runtime):
        asked["budget_usd"] = in_dollars(old.budget)  # the same again
    start_params = StartParams(
        agent=old.agent,
        project=str(Path(old.project_path, old.subdir)),
        model=params.model or old.model,
        permission_mode=old.permission_mode,
        tags=old.tags,
        profile=old.profile,
        runtime=runtime,
        **asked,
    )
    return await start(context, caller, start_params, conversation)


async def _worktree_to_restore(
    context: Context, caller: Caller, old: Session
) -> Workspace | None:
    """Return the worktree that is made again for a session; none if it needs none.

    The worktree of an ended session is removed if nothing in it would be lost.
    """
    if old.workspace is None:
        return None
    removed = await _settled_workspace(context, old.workspace.path)
    # A worktree of a later session may have the same path.
    if removed is None or removed.created_at > old.created_at:
        raise CommandRefused(
            f"The worktree of {old.name} was removed, and its folder was given to another"
            f" session: {old.workspace.path}. Start another session:  rookery start --worktree"
        )
    if await is_folder(old.workspace.path):
        return None
    if caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may resume a session whose worktree was removed.")
    return await context.worktrees.plan_restoring(removed)


async def _settled_workspace(context: Context, path: str) -> Workspace | None:
    """Return a workspace; if it is being removed, wait for that."""

    def is_settled(db: Connection) -> bool:
        found = workspaces.of_path(db, path)
        return found is None or found.state is not WorkspaceState.REMOVING

    await wait_for_change.until(
        context.database,
        is_settled,
        seconds=REMOVAL_TIMEOUT_S,
        clock=context.journal.clock,
    )
    return await context.database.read(partial(workspaces.of_path, path=path))


async def _resume_unknown(context: Context, caller: Caller, params: ResumeParams) -> Session:
    """Resume a conversation that Rookery does not know, by the id that the owner gives."""
    if caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may resume a conversation that Rookery does not know.")
    if not (params.agent and params.project):
        raise BadInput(
            f"Rookery does not know {params.session}. Give the agent and the folder of the"
            " conversation:  --agent NAME --project FOLDER"
        )
    native_id = NativeId(params.session)
    conversation = Conversation(native_id=native_id, is_branch=params.fork)
    start_params = StartParams(
        agent=params.agent,
        project=params.project,
        model=params.model,
        runtime=params.runtime or AUTO,
        **_as_asked(params),
    )
    return await start(context, caller, start_params, conversation)


def _reports_cost(context: Context, old: Session, runtime: str) -> bool:
    agent = context.agents.get(old.agent)
    return runtime != TMUX and agent is not None and runtime not in agent.without_cost


def _runtime_of(old: Session) -> str:
    return old.runtime if old.is_ours else AUTO


def _as_asked(params: ResumeParams) -> dict[str, Any]:
    options = {"prompt", "name", "listen", "environment", "origin"}
    return params.model_dump(include={*options, *DrivingParams.model_fields})
