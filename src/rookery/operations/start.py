"""The operation that starts a session, in a new conversation or an earlier one."""

from __future__ import annotations

import os
from dataclasses import replace
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.agent_settings import ProfileSettings
from rookery.agents.names import DEFAULT, NAMES, SHELL
from rookery.environment import session_environment
from rookery.model.errors import BadInput, Forbidden
from rookery.model.scopes import Scope
from rookery.model.sessions import Session
from rookery.operations.children import as_child
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Params
from rookery.operations.outcome_listeners import Link, link, speaker_of
from rookery.sessions import starts
from rookery.sessions.profiles import find_profile
from rookery.store import messages
from rookery.workspaces.planning import WorktreeRequest

#: Arguments for the agent's program that one start may give.
MAX_ARGUMENTS = 100


class StartParams(Params):
    agent: str = Field(
        "", description="without, that of the profile or `default_agent` of the configuration"
    )
    project: str
    name: str = ""
    prompt: str = ""
    model: str = ""
    permission_mode: str = ""
    runtime: str = "tmux"
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


async def start(
    context: Context,
    caller: Caller,
    params: StartParams,
    conversation: starts.Conversation | None = None,
) -> Session:
    """Start an agent; accepted once it is stored."""
    profile = find_profile(context.settings, params.profile) if params.profile else None
    params = _with_profile(params, profile) if profile else _with_agent(context, params)
    params = _without_agents_environment(caller, params)
    _require_owner_for_shell(caller, params)
    _check_worktree(caller, params)
    fields = params.model_dump(exclude={"listen", "worktree", "branch", "base"})
    calling_session = caller.identity.session
    start_request = starts.StartRequest(
        **fields, parent=calling_session, conversation=conversation
    )
    configured = {**context.settings.environment, **(profile.environment if profile else {})}
    environment = session_environment(context.login, params.environment, configured)
    plan = starts.plan(
        start_request,
        context.agents,
        command=_command(context, params.agent, profile),
        path=environment.get("PATH", os.defpath),
        limit=context.settings.limits.tmux_sessions,
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


def _command(context: Context, agent: str, profile: ProfileSettings | None) -> tuple[str, ...]:
    """Return the configured command with its arguments; empty for the agent's program alone."""
    if profile and profile.command:
        return (*profile.command, *profile.arguments)
    configured = context.settings.agent(agent)
    arguments = (*configured.arguments, *(profile.arguments if profile else ()))
    command = configured.command or context.commands.get(agent, ())
    if not command and arguments and agent in context.agents:
        command = (context.agents[agent].program,)
    return (*command, *arguments) if command else ()


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


def _check_worktree(caller: Caller, params: StartParams) -> None:
    """Allow worktrees only to the owner: set-up commands run what a repository contains."""
    if (params.branch or params.base) and not params.worktree:
        raise BadInput("a branch and a base are for a worktree; add --worktree.")
    if params.worktree and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the owner may start a session in a worktree of its own.")
