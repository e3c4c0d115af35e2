"""The operation that starts a session, in a new conversation or an earlier one."""

from __future__ import annotations

import os
from dataclasses import replace
from sqlite3 import Connection
from typing import Annotated, TypeAlias

from pydantic import Field

from rookery.agent_settings import ProfileSettings
from rookery.agents.names import DEFAULT, NAMES, SHELL
from rookery.environment import session_environment
from rookery.model.errors import BadInput, Forbidden
from rookery.model.money import in_micro_dollars
from rookery.model.scopes import Scope
from rookery.model.sessions import ACP, TMUX, Session
from rookery.operations.children import as_child, configured_runtime
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Params
from rookery.operations.outcome_listeners import Link, link, speaker_of
from rookery.sessions import start_plans, starts
from rookery.sessions.profiles import find_profile
from rookery.store import messages
from rookery.workspaces.planning import WorktreeRequest

#: Leaves the choice of the runtime to the configuration.
AUTO = "auto"

#: Arguments for the agent's program that one start may give.
MAX_ARGUMENTS = 100

#: The channel through which a session was asked for; a text for people and for its channels.
Origin: TypeAlias = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="the channel that asks for it, such as telegram|12345; without, the caller",
    ),
]


class DrivingParams(Params):
    """What only a driven session can be given, when it starts or goes on."""

    budget_usd: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        None, description="what a driven session may use; without, limits.budget_usd"
    )
    system_prompt: str = Field(
        "", max_length=100_000, description="added to the instructions of a driven agent"
    )
    allowed_tools: Annotated[tuple[str, ...], Field(max_length=MAX_ARGUMENTS)] = Field(
        (), description="that a driven agent may use unasked"
    )
    single_turn: bool = Field(False, description="a driven session that ends after its turn")
    queue: bool = Field(False, description="wait at limits.driven_sessions instead of failing")


class StartParams(DrivingParams):
    agent: str = Field(
        "", description="without, that of the profile or `default_agent` of the configuration"
    )
    project: str
    name: str = ""
    prompt: str = ""
    model: str = ""
    permission_mode: str = ""
    runtime: str = Field(
        AUTO, description="tmux, or for driven sessions sdk, acp, codex or opencode"
    )
    command: tuple[str, ...] = ()
    arguments: Annotated[tuple[str, ...], Field(max_length=MAX_ARGUMENTS)] = Field(
        (), description="for the agent's program, in this session; not for a shell"
    )
    environment: dict[str, str] = Field(default_factory=dict)
    listen: bool = Field(False, description="tell the session that asks when it is done")
    tools: bool = Field(True, description="let it ask things of Rookery itself, by MCP")
    tags: tuple[str, ...] = ()
    profile: str = Field("", description="a profile of the configuration")
    worktree: bool = Field(False, description="give it a git worktree of its own")
    branch: str = Field("", description="of the worktree; without, rookery/NAME")
    base: str = Field("", description="the commit or branch to begin with; without, HEAD")
    origin: Origin = ""


async def start(
    context: Context,
    caller: Caller,
    params: StartParams,
    conversation: start_plans.Conversation | None = None,
) -> Session:
    """Start an agent; accepted once it is stored."""
    profile = find_profile(context.settings, params.profile) if params.profile else None
    params = _with_profile(params, profile) if profile else _with_agent(context, params)
    params = _without_agents_environment(caller, params)
    _require_owner_for_shell(caller, params)
    _require_owner_for_origin(caller, params)
    _check_worktree(caller, params)
    params = _with_runtime(context, caller, params)
    start_request = start_plans.StartRequest(
        **params.model_dump(exclude=_NOT_REQUESTED),
        driving=_driving(context, params),
        parent=caller.identity.session,
        conversation=conversation,
    )
    limits = context.settings.limits
    plan = start_plans.plan(
        start_request,
        context.agents,
        command=_command(context, params, profile),
        path=_search_path(context, params, profile),
        limit=limits.tmux_sessions if params.runtime == TMUX else limits.driven_sessions,
    )
    if params.worktree:
        request = WorktreeRequest(params.branch, params.base)
        plan = replace(plan, worktree=await context.worktrees.plan(plan.project, request))

    def accept(db: Connection) -> Session:
        child = as_child(db, context, caller, plan)
        session = starts.accept(db, context.journal, child, speaker=speaker_of(caller))
        first = messages.first_for(db, session.id)
        link(db, context, caller, Link(session.id, first, direct=False, listen=params.listen))
        return session

    return await once(context, caller, Session, accept)


#: The options that are not passed on as they are.
_NOT_REQUESTED = {
    *("listen", "worktree", "branch", "base"),
    *("budget_usd", "system_prompt", "allowed_tools", "single_turn", "queue"),
}


def _with_runtime(context: Context, caller: Caller, params: StartParams) -> StartParams:
    """Choose the configured runtime if the request names none."""
    if params.allowed_tools and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may let a session use tools unasked.")
    if params.runtime != AUTO:
        return params
    configured = configured_runtime(context, params.agent)
    return params.model_copy(update={"runtime": configured})


def _driving(context: Context, params: StartParams) -> start_plans.Driving:
    """Return what only a driven session is given."""
    budget, agent = params.budget_usd, context.agents.get(params.agent)
    if budget is not None and agent and params.runtime in agent.without_cost:
        raise BadInput(
            f"{agent.name} does not report what it costs in the runtime {params.runtime},"
            " so that a budget would have no effect."
        )
    if budget is None and params.runtime != TMUX:
        budget = context.settings.limits.budget_usd
    return start_plans.Driving(
        budget=None if budget is None else in_micro_dollars(budget),
        system_prompt=params.system_prompt,
        allowed_tools=params.allowed_tools,
        single_turn=params.single_turn,
        queue=params.queue,
    )


def _with_profile(params: StartParams, profile: ProfileSettings) -> StartParams:
    """Fill in what a profile says and the request does not. Raises ``BadInput``."""
    if params.agent not in {"", profile.agent}:
        raise BadInput(f"the profile {params.profile!r} starts {profile.agent}.")
    filled = {
        "agent": profile.agent,
        "model": params.model or profile.model,
        "permission_mode": params.permission_mode or profile.permission_mode,
    }
    return params.model_copy(update=filled)


def _command(
    context: Context, params: StartParams, profile: ProfileSettings | None
) -> tuple[str, ...]:
    """Return the configured command with its arguments; empty for the agent's program alone."""
    agent, configured = params.agent, context.settings.agent(params.agent)
    if params.runtime == ACP and configured.acp:
        return configured.acp
    known = context.agents.get(agent)
    if known and params.runtime in known.driven_programs:
        return ()  # the command and its arguments are for another program
    if profile and profile.command:
        return (*profile.command, *profile.arguments)
    arguments = (*configured.arguments, *(profile.arguments if profile else ()))
    command = configured.command or context.commands.get(agent, ())
    if not command and arguments and agent in context.agents:
        command = (context.agents[agent].program,)
    return (*command, *arguments) if command else ()


def _search_path(context: Context, params: StartParams, profile: ProfileSettings | None) -> str:
    """Return the folders in which the session's program is looked for."""
    configured = {**context.settings.environment, **(profile.environment if profile else {})}
    environment = session_environment(context.login, params.environment, configured)
    return environment.get("PATH", os.defpath)


def _with_agent(context: Context, params: StartParams) -> StartParams:
    """Choose the configured agent if the request names none. Raises ``BadInput``."""
    if params.agent:
        return params
    if not (agent := context.settings.default_agent):
        raise BadInput(
            f"which agent? Name one of {', '.join(NAMES)} first, or set default_agent in the"
            f' configuration:  rookery start {DEFAULT} "fix the tests"',
            missing="agent",
        )
    return params.model_copy(update={"agent": agent})


def _without_agents_environment(caller: Caller, params: StartParams) -> StartParams:
    """Drop the environment that a command sends when a session runs it.

    The command cannot always detect that an agent runs it: an agent that was started by hand
    has no badge in its environment.
    """
    identity = caller.identity
    is_session = identity.scope is Scope.SESSION and identity.transport == "unix"
    return params.model_copy(update={"environment": {}}) if is_session else params


def _require_owner_for_shell(caller: Caller, params: StartParams) -> None:
    """Let only the owner, on this computer's own socket, choose programs and environments."""
    if caller.identity.scope is not Scope.OWNER or caller.identity.transport != "unix":
        if params.agent == SHELL:
            raise Forbidden("only the owner may start a shell, on this computer's own socket.")
        if params.arguments:
            raise Forbidden(
                "only the owner may pass arguments to an agent, on this computer's own socket."
            )
        if params.environment:
            raise Forbidden(
                "only the owner may pass an environment, on this computer's own socket."
            )


def _require_owner_for_origin(caller: Caller, params: StartParams) -> None:
    """Let only the owner name the channel that asks: people and channels rely on it."""
    if params.origin and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may choose the origin of a session. Leave it out.")


def _check_worktree(caller: Caller, params: StartParams) -> None:
    """Allow worktrees only to the owner: set-up commands run what a repository contains."""
    if (params.branch or params.base) and not params.worktree:
        raise BadInput("a branch and a base are for a worktree; add --worktree.")
    if params.worktree and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may start a session in a worktree of its own.")
