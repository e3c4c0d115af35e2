"""Tools for sessions: find, start, read, interrupt and end them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from rookery.api.mcp.context import OnComputer, OnSession, ToolContext
from rookery.api.mcp.views import NOT_TOLD, TOLD, SessionView, view_all, view_one
from rookery.model.errors import BadInput
from rookery.model.facts import SessionId
from rookery.model.sessions import Session, Turn
from rookery.operations.conversation_data import DEFAULT_TAIL_CHARACTERS, SessionData
from rookery.operations.sessions import Sessions
from rookery.ports.transcript import Passage


class ListArguments(OnComputer):
    include_ended: bool = Field(False, description="also those that ended long ago")
    parent: str = Field("", description="only those that this session started")


class StartArguments(OnComputer):
    message: str = Field("", description="its first task, complete: it knows nothing of yours")
    agent: str = Field("", description="claude, codex, …; without, the same as you")
    project: str = Field("", description="the folder to work in; without, yours")
    name: str = Field("", description="a short name; without, made from the message")
    model: str = ""
    permission_mode: str = Field("", description="at most your own")
    runtime: str = Field(
        "auto", description="tmux, or without a terminal: sdk, acp, codex, opencode"
    )


class ResumeArguments(OnSession):
    fork: bool = Field(False, description="a branch of its own; also of a session that lives")
    message: str = Field("", description="what to say to it first")
    name: str = ""


class DataArguments(OnSession):
    since: datetime | None = Field(None, description="ISO 8601; only what was said after it")
    until: datetime | None = Field(None, description="ISO 8601; only what was said before it")
    tail_chars: Annotated[int, Field(ge=1, le=200_000)] = DEFAULT_TAIL_CHARACTERS


@dataclass(frozen=True, slots=True)
class ListedSessions:
    sessions: list[SessionView]


@dataclass(frozen=True, slots=True)
class Started:
    session_id: SessionId
    name: str
    computer: str
    listening: bool  #: whether the caller is notified when it has finished
    advice: str


@dataclass(frozen=True, slots=True)
class Data:
    session: SessionView
    turns: list[Turn]  #: oldest first; the first one may be cut to its end
    omitted: int  #: how many earlier turns did not fit
    transcript: list[Passage]  #: the rest of the conversation, oldest first: tools, text
    screen: str  #: while the session asks something, or if nothing was recorded
    transcript_path: str  #: the agent's own record of all of it


async def list_sessions(context: ToolContext, params: ListArguments) -> ListedSessions:
    """List the sessions that you may see: who they are, who started whom, what each does now.

    It is for finding a session, not for waiting: you are told when one that you gave work has
    finished.
    """
    found: Sessions = await context.ask("list", all=params.include_ended)
    listed = found.sessions
    selected = listed
    if params.parent:
        parent: Session = await context.ask("show", session=params.parent)
        selected = [each for each in listed if each.parent == parent.id]
    return ListedSessions(view_all(selected, listed, context.own))


async def start_session(context: ToolContext, params: StartArguments) -> Started:
    """Start another agent on a task of its own. It works beside you, as your child.

    You are told here, in your own session, when it has finished its turn, needs input or has
    ended; then read it with get_session_data. So end your turn: do not poll, do not sleep.
    """
    options = params.model_dump(include={"name", "model", "permission_mode", "runtime"})
    agent, project = params.agent, params.project
    if context.own is not None and not (agent and project):
        caller: Session = await context.ask("show", session=context.own)
        agent, project = agent or caller.agent, project or caller.project_path
    if not (agent and project):
        raise BadInput("give an agent and a project; the caller is not a session and has none.")
    started: Session = await context.ask(
        "start", agent=agent, project=project, prompt=params.message, listen=True, **options
    )
    return await _started(context, started)


async def resume_session(context: ToolContext, params: ResumeArguments) -> Started:
    """Go on with the conversation of a session that is over; or, with fork=true, branch off it.

    It is a new session, your child, that knows what was said before. You are told as after
    start_session: end your turn, do not poll.
    """
    options = {"fork": params.fork, "prompt": params.message, "name": params.name}
    resumed: Session = await context.ask(
        "resume", session=params.session_id, listen=True, **options
    )
    return await _started(context, resumed)


async def _started(context: ToolContext, started: Session) -> Started:
    is_notified = False
    if context.own is not None:
        caller: Session = await context.ask("show", session=context.own)
        is_notified = caller.can_receive
    return Started(
        started.id,
        started.name,
        started.computer,
        is_notified,
        TOLD if is_notified else NOT_TOLD,
    )


async def get_session_data(context: ToolContext, params: DataArguments) -> Data:
    """Read what a session was asked, answered and did; what came last is kept first.

    Call it once, when you were told that the session has finished or needs input; not to wait
    for it. What it answered is in its turns, what it did on the way in its transcript; where
    they do not tell enough, its screen is there, too. Of each you get at most tail_chars.
    """
    options = params.model_dump(include={"since", "until", "tail_chars"})
    data: SessionData = await context.ask("data", session=params.session_id, **options)
    listed: Sessions = await context.ask("list", all=False)
    (session,) = view_all([data.session], listed.sessions, context.own)
    return Data(
        session=session,
        turns=data.turns,
        omitted=data.omitted,
        transcript=data.transcript,
        screen=data.screen,
        transcript_path=data.session.transcript_path,
    )


async def end_session(context: ToolContext, params: OnSession) -> SessionView:
    """End a session that you started (or that one of yours did). Its work stays in its folder.

    Twice does nothing. Do not end one that you still want to ask something.
    """
    return view_one(await context.ask("end", session=params.session_id), [], context.own)


async def interrupt_session(context: ToolContext, params: OnSession) -> SessionView:
    """Stop the turn that a session of yours is in; it stays, and waits for words."""
    return view_one(await context.ask("interrupt", session=params.session_id), [], context.own)
