"""Operations that continue a conversation that has ended, or branch off one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from rookery.model.errors import BadInput, CommandRefused, Forbidden, SessionUnknown
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import NativeId, Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.operation import OfSession
from rookery.operations.start import StartParams, start
from rookery.sessions.starts import Conversation

#: The ids of agents' conversations. They go on a command line, so no other text is accepted.
_NATIVE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[0-9A-Za-z]{8,60}")

#: The prefix of placeholders for a native id until the agent reports it.
_SYNTHETIC = "tmux_"


class ResumeParams(OfSession):
    fork: bool = Field(False, description="a branch of its own; also of a session that lives")
    prompt: str = ""
    name: str = ""
    listen: bool = Field(False, description="tell the session that asks when it is done")
    agent: str = Field("", description="whose it is, if Rookery does not know the conversation")
    project: str = Field("", description="and the folder to go on in")
    environment: dict[str, str] = Field(default_factory=dict)


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
    _require_worktree(old)
    conversation = Conversation(
        native_id=old.native_id,
        is_branch=params.fork,
        session=old.id,
        name=old.name,
        workspace=old.workspace,
    )
    start_params = StartParams(
        agent=old.agent,
        project=str(Path(old.project_path, old.subdir)),
        model=old.model,
        permission_mode=old.permission_mode,
        tags=old.tags,
        profile=old.profile,
        **_as_asked(params),
    )
    return await start(context, caller, start_params, conversation)


def _require_worktree(old: Session) -> None:
    if old.workspace and not Path(old.project_path).is_dir():
        raise CommandRefused(
            f"the worktree of {old.name} is gone: {old.workspace.path}. Start another session:"
            "  rookery start --worktree"
        )


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
    start_params = StartParams(agent=params.agent, project=params.project, **_as_asked(params))
    return await start(context, caller, start_params, conversation)


def _as_asked(params: ResumeParams) -> dict[str, Any]:
    return params.model_dump(include={"prompt", "name", "listen", "environment"})
