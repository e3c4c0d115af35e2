"""Start a session: check the request, then accept it as a row."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

from rookery.agents.names import SHELL
from rookery.model.errors import (
    AgentUnknown,
    BadInput,
    CommandRefused,
    LimitReached,
    NameTaken,
    ProgramMissing,
    ProjectUnknown,
)
from rookery.model.facts import SessionId, SessionRequested
from rookery.model.labels import checked_tags
from rookery.model.messages import Handling, Words, clean
from rookery.model.names import SHOWN_NAME_CHARACTERS, checked, distinct, name_from, title_from
from rookery.model.sessions import (
    MAX_FIRST_PROMPT_CHARACTERS,
    TMUX,
    NativeId,
    Session,
    program_name,
)
from rookery.model.workspaces import SessionWorkspace, WorkspacePlan
from rookery.ports.agent import Agent
from rookery.sessions.commands import MessageSender, addressed, write
from rookery.store import session_bindings, sessions, workspaces
from rookery.store.journal import Journal
from rookery.store.session_lookup import TakenNames

#: A model name is passed on a command line, where it must not be read as an option.
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@\[\] ()+,-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The conversation to resume, or to continue as a branch."""

    native_id: NativeId
    is_branch: bool
    session: SessionId | None = None  #: the last session that had it, if known
    name: str = ""  #: the name of that session
    workspace: SessionWorkspace | None = None  #: its worktree, if that is still there


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
    command: tuple[str, ...] = ()  #: for a shell: what to run
    arguments: tuple[str, ...] = ()  #: for the program of any other agent
    environment: Mapping[str, str] = field(default_factory=dict)  #: of the caller
    parent: SessionId | None = None
    tools: bool = True  #: whether it gets Rookery's MCP tools
    conversation: Conversation | None = None  #: to continue; else a new one begins
    tags: tuple[str, ...] = ()
    profile: str = ""

    @property
    def chosen_name(self) -> str:
        """The requested name or the conversation's; empty if there is neither."""
        return self.name or (self.conversation.name if self.conversation else "")


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
    if start.runtime != TMUX:
        raise BadInput(f"unknown runtime {start.runtime!r}; known: {TMUX}.")
    _check_command(agent, start)
    if start.name:
        checked(start.name)
    if start.model and not _MODEL.fullmatch(start.model):
        raise BadInput(
            f"the model {start.model[:SHOWN_NAME_CHARACTERS]!r} is not a model name."
        )
    checked_tags(start.tags)
    if start.conversation:
        _check_ability(agent, start.conversation)
    return StartPlan(
        start=start,
        agent=agent,
        project=_folder(start.project),
        command=(*_program(agent, start.command or command, path), *start.arguments),
        words=addressed(clean(start.prompt), agent) if start.prompt else None,
        limit=limit,
    )


def _check_command(agent: Agent, start: StartRequest) -> None:
    """Refuse words that do not belong on the command line of the agent's program."""
    if start.command and agent.name != SHELL:
        raise BadInput("only the agent 'shell' takes a command line.")
    if start.arguments and agent.name == SHELL:
        raise BadInput("the arguments of a shell are part of its command line.")
    if refusal := agent.reserved.why_not(start.arguments):
        raise BadInput(refusal)


def _check_ability(agent: Agent, conversation: Conversation) -> None:
    can = agent.abilities
    if not (can.can_fork if conversation.is_branch else can.can_resume):
        verb = "branch" if conversation.is_branch else "continue"
        raise CommandRefused(f"{agent.name} cannot {verb} a conversation.")


def _folder(project: str) -> Path:
    if "\0" in project:
        raise ProjectUnknown(repr(project))
    try:
        folder = Path(project).expanduser()
        is_there = folder.is_dir()
    except (RuntimeError, OSError, ValueError) as error:  # no such user, or far too long
        raise ProjectUnknown(f"{project[:200]!r}: {error}") from error
    if not folder.is_absolute():
        raise ProjectUnknown(f"{project!r}; give its absolute path.")
    if not is_there:
        raise ProjectUnknown(f"{project}. Create it, or name another with --project.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ProjectUnknown(f"{project} (permission denied).")
    return folder.resolve()


def _program(agent: Agent, command: tuple[str, ...], path: str) -> tuple[str, ...]:
    first, *rest = command or (agent.program,)
    if (program := shutil.which(first, path=path)) is None:
        raise ProgramMissing(
            f"{first!r}. Install it, or set its path in the configuration:"
            f' [agents.{agent.name}] command = ["/path/to/{Path(first).name}"]'
        )
    return (program, *rest)


def accept(
    db: Connection, journal: Journal, plan: StartPlan, *, speaker: MessageSender
) -> Session:
    """Add a session row, and queue its first message."""
    owner = speaker.name
    if sessions.count_live(db, TMUX) >= plan.limit:
        raise LimitReached(f"{plan.limit}. End one, or raise limits.tmux_sessions.")
    _require_not_live(db, plan)
    session = _new_session(db, journal, plan, owner=owner)
    sessions.add(db, session, launch=_launch(plan))
    _enter_workspace(db, plan, session)
    journal.append(db, SessionRequested(session.id, owner))
    if plan.words:
        # Messages that come before it is up are not joined to the prompt: its answer is wanted.
        write(db, journal, session.id, plan.words, speaker, handling=Handling(alone=True))
    return sessions.get(db, session.id)


def _new_session(db: Connection, journal: Journal, plan: StartPlan, *, owner: str) -> Session:
    """Return the session of an accepted start, with an id and a name that are free."""
    now, start = journal.clock.now(), plan.start
    session_id = _new_id(db)
    name = _name(start, taken=TakenNames(db))
    workspace = _workspace(db, plan, name)
    return Session(
        id=session_id,
        name=name,
        label=name,
        agent=plan.agent.name,
        runtime=TMUX,
        computer=journal.computer,
        title=title_from(start.prompt, start.chosen_name),
        native_id=_native_id(plan, session_id),
        project_path=str(_project(plan, workspace)),
        tmux_session=program_name(session_id),
        owner=owner,
        parent=start.parent,
        continues=start.conversation.session if start.conversation else None,
        origin=owner,
        last_input_origin=owner,
        first_prompt=start.prompt[:MAX_FIRST_PROMPT_CHARACTERS],
        model=start.model,
        permission_mode=start.permission_mode,
        tags=checked_tags(start.tags),
        profile=start.profile,
        since=now,
        created_at=now,
        last_activity_at=now,
        workspace=workspace,
    )


def _workspace(db: Connection, plan: StartPlan, name: str) -> SessionWorkspace | None:
    """Return the worktree of a new session: one to be made, or its conversation's."""
    if plan.worktree:
        return workspaces.choose(db, plan.worktree, name)
    return plan.start.conversation.workspace if plan.start.conversation else None


def _project(plan: StartPlan, workspace: SessionWorkspace | None) -> Path:
    """Return the session's folder: in a new worktree, the same one as in the checkout."""
    if plan.worktree and workspace:
        return Path(workspace.path, plan.worktree.subdir)
    return plan.project


def _enter_workspace(db: Connection, plan: StartPlan, session: Session) -> None:
    conversation = plan.start.conversation
    if session.workspace is None:
        return
    if plan.worktree:
        at = session.created_at
        workspaces.request(db, session.id, plan.worktree, session.workspace, at=at)
    elif conversation and not conversation.is_branch:
        workspaces.give(db, session.workspace.path, session.id)
    else:
        workspaces.recheck(db, session.workspace.path)


def _require_not_live(db: Connection, plan: StartPlan) -> None:
    """Refuse to resume a live session's conversation: two programs must not write to one."""
    conversation = plan.start.conversation
    if conversation is None or conversation.is_branch:
        return
    if holder := session_bindings.in_conversation(db, plan.agent.name, conversation.native_id):
        can_fork = plan.agent.abilities.can_fork
        verb = "Branch it:  rookery fork" if can_fork else "First:  rookery end"
        why = f"{holder.name} lives, and two programs would spoil one conversation"
        raise CommandRefused(f"{why}. {verb} {holder.name}")


def _native_id(plan: StartPlan, session: SessionId) -> NativeId | None:
    conversation = plan.start.conversation
    if conversation and not conversation.is_branch:
        return conversation.native_id
    return NativeId(session) if plan.agent.abilities.takes_id else None


def _launch(plan: StartPlan) -> dict[str, object]:
    """Return the options with which the program is launched, as they are stored."""
    start, conversation = plan.start, plan.start.conversation
    environment = dict(start.environment)
    options = {"command": plan.command, "environment": environment, "tools": start.tools}
    if conversation is None:
        return options
    how = {"forks": conversation.native_id} if conversation.is_branch else {"resumes": True}
    return {**options, **how}


def _new_id(db: Connection, make: Callable[[], object] = uuid4) -> SessionId:
    """Return a new id whose first 8 characters, used as the tmux name, are unique as well."""
    while True:
        session = SessionId(str(make()))
        if not sessions.has_id_like(db, session[:8]):
            return session


def _name(start: StartRequest, *, taken: TakenNames) -> str:
    if not start.name:
        return distinct(start.chosen_name or name_from(start.prompt), taken)
    if start.name in taken:
        raise NameTaken(f"{start.name!r}. Choose another, or end that one.")
    return start.name
