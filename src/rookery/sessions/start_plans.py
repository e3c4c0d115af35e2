"""Check a request to start a session, as far as possible without the store."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rookery.agents.names import SHELL
from rookery.model.errors import AgentUnknown, BadInput, CommandRefused, ProgramMissing
from rookery.model.facts import SessionId
from rookery.model.labels import checked_tags
from rookery.model.messages import Words, clean
from rookery.model.names import SHOWN_NAME_CHARACTERS, checked
from rookery.model.sessions import TMUX, NativeId
from rookery.model.workspaces import SessionWorkspace, Workspace, WorkspacePlan
from rookery.ports.agent import Agent, LaunchSpec
from rookery.sessions.commands import addressed
from rookery.sessions.project_folders import check_folder

#: A model name is passed on a command line, where it must not be read as an option.
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@\[\] ()+,-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The conversation to resume, or to continue as a branch."""

    native_id: NativeId
    is_branch: bool
    session: SessionId | None = None  #: the last session that had it, if known
    name: str = ""  #: the name of that session
    workspace: SessionWorkspace | None = None  #: its worktree
    restored: Workspace | None = None  #: the same worktree, if it is gone and is made again


@dataclass(frozen=True, slots=True, kw_only=True)
class Driving:
    """What only a driven session can be given."""

    budget: int | None = None  #: micro-dollars
    system_prompt: str = ""  #: added to the agent's own instructions
    allowed_tools: tuple[str, ...] = ()  #: that it may use unasked
    single_turn: bool = False  #: it is over after its first turn
    queue: bool = False  #: if too many driven sessions live, wait instead of being refused

    @property
    def given(self) -> list[str]:
        """The options that were given, by name."""
        return [name for name, value in asdict(self).items() if value not in _NOT_GIVEN]


_NOT_GIVEN: tuple[object, ...] = (None, "", (), False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """A request to start a session."""

    agent: str
    project: str
    name: str = ""
    prompt: str = ""
    model: str = ""
    permission_mode: str = ""
    runtime: str = TMUX
    driving: Driving = field(default_factory=Driving)  #: of a driven session
    command: tuple[str, ...] = ()  #: for a shell: what to run
    arguments: tuple[str, ...] = ()  #: for the program of any other agent
    environment: Mapping[str, str] = field(default_factory=dict)  #: of the caller
    parent: SessionId | None = None
    tools: bool = True  #: whether it gets Rookery's MCP tools
    conversation: Conversation | None = None  #: to continue; else a new one begins
    tags: tuple[str, ...] = ()
    profile: str = ""
    origin: str = ""  #: the channel that asks for it; empty if it is the caller

    @property
    def chosen_name(self) -> str:
        """The requested name or the conversation's; empty if there is neither."""
        return self.name or (self.conversation.name if self.conversation else "")

    @property
    def is_restored(self) -> bool:
        """Whether its worktree, and so its folder, has to be made again first."""
        return bool(self.conversation and self.conversation.restored)


@dataclass(frozen=True, slots=True)
class StartPlan:
    """A start request that passed the checks outside the store, which may still refuse it."""

    start: StartRequest
    agent: Agent
    project: Path
    command: tuple[str, ...]
    words: Words | None
    limit: int
    worktree: WorkspacePlan | None = None  #: to be made for it


def plan(
    start: StartRequest,
    agents: Mapping[str, Agent],
    *,
    command: tuple[str, ...],
    path: str,
    limit: int,
) -> StartPlan:
    """Check a start request as far as possible without the store.

    ``command`` is the configured command, empty for the agent's usual program, which is then
    looked for on ``path``.
    """
    if (agent := agents.get(start.agent)) is None:
        raise AgentUnknown(f"{start.agent!r}. There are: {', '.join(sorted(agents))}.")
    _check_runtime(agent, start)
    _check_command(agent, start)
    if start.name:
        checked(start.name)
    if start.model and not _MODEL.fullmatch(start.model):
        raise BadInput(
            f"the model {start.model[:SHOWN_NAME_CHARACTERS]!r} is not a model name."
        )
    checked_tags(start.tags)
    if start.conversation:
        _check_ability(agent, start.conversation, is_driven=start.runtime != TMUX)
    return StartPlan(
        start=start,
        agent=agent,
        project=Path(start.project) if start.is_restored else check_folder(start.project),
        command=(
            *_program(agent, start.command or command, path, start.runtime),
            *start.arguments,
        ),
        words=addressed(clean(start.prompt), agent) if start.prompt else None,
        limit=limit,
    )


def _check_runtime(agent: Agent, start: StartRequest) -> None:
    """Refuse a runtime that the agent does not have, and options that it does not take."""
    known = (*(() if agent.is_driven_only else (TMUX,)), *agent.driven)
    if start.runtime not in known:
        raise BadInput(
            f"{agent.name} has no runtime {start.runtime[:SHOWN_NAME_CHARACTERS]!r};"
            f" it has: {', '.join(known)}."
        )
    if start.runtime == TMUX and (given := start.driving.given):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise BadInput(f"only a driven session takes {options}; choose its --runtime.")
    if start.driving.single_turn and not start.prompt:
        raise BadInput("a session of one turn needs its prompt.")
    if start.runtime != TMUX:
        _check_driving(agent, start)


def _check_driving(agent: Agent, start: StartRequest) -> None:
    """Refuse options that the agent does not take in this runtime. Raises ``BadInput``."""
    driving = start.driving
    spec = LaunchSpec(
        command=(agent.name,),
        native_id=NativeId(""),
        model=start.model,
        permission_mode=start.permission_mode,
        hook="",
        folder=Path("/"),  # nothing is written; some agents need a whole path
        system_prompt=driving.system_prompt,
        allowed_tools=driving.allowed_tools,
        budget=driving.budget,
    )
    agent.driven[start.runtime](spec)


def _check_command(agent: Agent, start: StartRequest) -> None:
    """Refuse words that do not belong on the command line of the agent's program."""
    if start.command and agent.name != SHELL:
        raise BadInput("only the agent 'shell' takes a command line.")
    if start.arguments and agent.name == SHELL:
        raise BadInput("the arguments of a shell are part of its command line.")
    if refusal := agent.reserved.why_not(start.arguments):
        raise BadInput(refusal)


def _check_ability(agent: Agent, conversation: Conversation, *, is_driven: bool) -> None:
    can = agent.abilities
    can_fork = can.can_fork or (is_driven and can.can_fork_driven)
    if not (can_fork if conversation.is_branch else can.can_resume):
        verb = "branch" if conversation.is_branch else "continue"
        raise CommandRefused(f"{agent.name} cannot {verb} a conversation.")


def _program(
    agent: Agent, command: tuple[str, ...], path: str, runtime: str
) -> tuple[str, ...]:
    first, *rest = command or (agent.driven_programs.get(runtime, agent.program),)
    if (program := shutil.which(first, path=path)) is None:
        is_another = agent.is_driven_only or runtime in agent.driven_programs
        key = runtime if is_another else "command"
        raise ProgramMissing(
            f"{first!r}. Install it, or set its path in the configuration:"
            f' [agents.{agent.name}] {key} = ["/path/to/{Path(first).name}"]'
        )
    return (program, *rest)
