"""The method that launches a session, in the terms of tools for Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pydantic import Field
from pydantic.alias_generators import to_camel

from rookery.agents.names import DEFAULT, SDK_PACKAGE
from rookery.api.rpc.gateway import workdir_of
from rookery.api.rpc.gateway_shapes import LaunchedSession
from rookery.api.rpc.methods import RpcCaller
from rookery.model.errors import BadInput, SessionUnknown
from rookery.model.sessions import TMUX, Session
from rookery.operations.context import Context
from rookery.operations.operation import Params

#: The runtime of sessions that are driven through the agent's own package.
SDK = "sdk"

#: Parameters that only a driven session has, and their names as options of a start.
DRIVING: Mapping[str, str] = {
    "max_budget_usd": "budget_usd",
    "system_prompt": "system_prompt",
    "allowed_tools": "allowed_tools",
    "multi_turn_disabled": "single_turn",
}


class LaunchArguments(Params):
    prompt: str = Field(min_length=1, description="its first task")
    name: str = Field("", description="without, made from the prompt")
    workdir: str = Field(
        "", description="an absolute path; without, the caller's, else the home folder"
    )
    model: str = Field("", description="without, that of the agent's own settings")
    max_budget_usd: float | None = Field(None, gt=0, description="without, limits.budget_usd")
    system_prompt: str = Field("", description="added to the agent's own instructions")
    allowed_tools: tuple[str, ...] = Field((), description="that it may use unasked")
    resume_session_id: str = Field("", description="a session whose conversation to continue")
    fork_session: bool = Field(False, description="continue it in a branch of its own")
    multi_turn_disabled: bool = Field(False, description="end the session after one turn")
    origin_channel: str = Field("gateway", description="the channel that asks for it")


async def launch(caller: RpcCaller, params: LaunchArguments) -> LaunchedSession:
    """Start Claude Code with a prompt, or continue a conversation with it."""
    if params.resume_session_id:
        session = await _resume(caller, params)
    elif params.fork_session:
        raise BadInput("fork_session needs resume_session_id, the session to branch off.")
    else:
        session = await _start(caller, params)
    return LaunchedSession(
        id=session.id,
        name=session.name,
        status=session.status,
        workdir=workdir_of(session),
        model=session.model or None,
    )


def _is_sdk_available(context: Context) -> bool:
    return SDK in context.agents[DEFAULT].driven and find_spec(SDK_PACKAGE) is not None


def _options(caller: RpcCaller, params: LaunchArguments) -> dict[str, object]:
    """Return the options that starting and resuming share. Raises ``BadInput``."""
    given = params.model_dump(exclude_defaults=True)
    driving = {option: given[name] for name, option in DRIVING.items() if name in given}
    runtime = SDK if _is_sdk_available(caller.context) else TMUX
    if driving and runtime == TMUX:
        refused = ", ".join(to_camel(name) for name in DRIVING if name in given)
        raise BadInput(
            f"a session in a terminal cannot have {refused}. To let Rookery drive it, install"
            " the extra in the clone of Rookery:  pipx install --force '.[tui,sdk]'"
        )
    shared = params.model_dump(include={"prompt", "name", "model"})
    # Only the owner may choose the origin; that of a session's child is the session.
    is_usual = "origin_channel" not in given and caller.identity.session is not None
    origin = "" if is_usual else params.origin_channel
    return {**shared, **driving, "runtime": runtime, "origin": origin}


async def _start(caller: RpcCaller, params: LaunchArguments) -> Session:
    session: Session = await caller.ask(
        "start",
        agent=DEFAULT,
        project=params.workdir or await _default_folder(caller),
        **_options(caller, params),
    )
    return session


async def _default_folder(caller: RpcCaller) -> str:
    """Return the folder of the calling session; for other callers, the home folder."""
    if own := caller.identity.session:
        session: Session = await caller.ask("show", session=own)
        return workdir_of(session)
    return caller.context.login.get("HOME", "") or str(Path.home())


async def _resume(caller: RpcCaller, params: LaunchArguments) -> Session:
    """Continue a conversation. One that Rookery does not know needs its folder."""
    options = {
        "session": params.resume_session_id,
        "fork": params.fork_session,
        **_options(caller, params),
    }
    try:
        old: Session = await caller.ask("show", session=params.resume_session_id)
    except SessionUnknown:
        project = params.workdir or await _default_folder(caller)
        options |= {"agent": DEFAULT, "project": project}
    else:
        _require_same_folder(old, params.workdir)
        if old.agent != DEFAULT:
            options["runtime"] = ""  # where it was
    session: Session = await caller.ask("resume", **options)
    return session


def _require_same_folder(old: Session, workdir: str) -> None:
    """Refuse to continue a session elsewhere. Raises ``BadInput``."""
    if workdir and Path(workdir) != Path(workdir_of(old)):
        raise BadInput(f"workdir: {old.name} goes on in its own, {workdir_of(old)}.")
