"""What can be asked of Rookery: one table, whatever the door."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from rookery import __version__, sessions
from rookery.config import Settings
from rookery.environment import session_environment
from rookery.home import Home
from rookery.model.errors import BadInput, RuntimeFailed, StillWorking
from rookery.model.lifecycle import Activity
from rookery.model.messages import Message, MessageId, Step, clean
from rookery.model.sessions import Session, Turn
from rookery.ports import Agent, Runtime
from rookery.store import commands, messages, turns, waits
from rookery.store import sessions as known
from rookery.store.database import Database
from rookery.store.journal import Journal


@dataclass(frozen=True, slots=True)
class House:
    """What operations work with."""

    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    commands: Mapping[
        str, tuple[str, ...]
    ]  #: what to run for an agent, where it is not its program
    settings: Settings
    home: Home
    login: Mapping[str, str]  #: the environment of the user's login shell
    started_at: datetime
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and under which key."""

    name: str
    key: commands.Key | None = None


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OfSession(Asked):
    session: str = Field(description="id, name, native id, or the beginning of one")


class StartAsked(Asked):
    agent: str
    project: str
    name: str = ""
    prompt: str = ""
    model: str = ""
    permission_mode: str = ""
    runtime: str = "tmux"
    command: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)


class ListAsked(Asked):
    all: bool = False


class SendAsked(OfSession):
    words: str


class AnswerAsked(Asked):
    message: int
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 600.0


class WaitAsked(OfSession):
    until: Literal["up", "stop", "end"] = "stop"
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 600.0


class TurnsAsked(OfSession):
    last: Annotated[int, Field(ge=1, le=10_000)] = 200
    after: int = Field(0, ge=0, description="how many turns are known already")
    timeout: Annotated[float, Field(ge=0, le=600)] = 0.0


class ScreenAsked(OfSession):
    history: bool = False


class Nothing(Asked):
    pass


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: list[Session]


@dataclass(frozen=True, slots=True)
class Turns:
    turns: list[Turn]
    count: int  #: of all that there were


@dataclass(frozen=True, slots=True)
class Screen:
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Ended:
    ended: list[str]  #: names


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    pid: int
    version: str
    home: str
    sessions: int
    waiting: int
    started_at: datetime
    computer: str
    tmux_socket: str
    log: str


A = TypeVar("A", bound=Asked)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operation(Generic[A, T]):
    name: str
    method: Literal["GET", "POST"]
    path: str
    asks: type[A]
    answers: type[T]
    run: Callable[[House, Caller, A], Awaitable[T]]


async def start(house: House, caller: Caller, asked: StartAsked) -> Session:
    """Start an agent; accepted once it is written down."""
    wanted = sessions.Start(**asked.model_dump())
    set_here = house.settings.agent(asked.agent)
    environment = session_environment(
        house.login, asked.environment, house.settings.environment
    )
    command = set_here.command or house.commands.get(asked.agent, ())
    plan = sessions.plan(
        wanted,
        house.agents,
        command=(*command, *set_here.arguments) if command else (),
        path=environment.get("PATH", os.defpath),
        limit=house.settings.limits.tmux_sessions,
    )
    accept = partial(sessions.accept, journal=house.journal, plan=plan, owner=caller.name)
    return await _once(house, caller, Session, accept)


async def list_sessions(house: House, caller: Caller, asked: ListAsked) -> Sessions:
    """List the sessions that live, and those that ended not long ago."""
    hours = timedelta(hours=house.settings.limits.listed_hours)
    now = house.journal.clock.now()
    since = datetime.fromtimestamp(0, now.tzinfo) if asked.all else now - hours
    return Sessions(await house.database.read(partial(known.listed, ended_after=since)))


async def show(house: House, caller: Caller, asked: OfSession) -> Session:
    """Show one session."""
    return await house.database.read(partial(known.resolve, word=asked.session))


async def send(house: House, caller: Caller, asked: SendAsked) -> Message:
    """Send words to a session; it gets them once it is idle."""
    words = clean(asked.words)
    session = await house.database.read(partial(known.resolve, word=asked.session))
    with suppress(RuntimeFailed):  # not up yet: it is checked again when they are typed
        house.runtime.check(session.id, words.text)

    def write(db: Connection) -> Message:
        message = sessions.send(
            db, house.journal, sender=caller.name, recipient=session.id, words=words
        )
        return Message(message, session.id, Step.PENDING, words.removed)

    return await _once(house, caller, Message, write)


async def answer(house: House, caller: Caller, asked: AnswerAsked) -> Turn:
    """Wait for the end of the turn that took a message up."""
    message = MessageId(asked.message)

    def is_over(db: Connection) -> bool:
        found = messages.get(db, message)
        turn = turns.of_message(db, message)
        lost = found is None or found.step in {Step.FAILED, Step.UNSURE}
        return lost or bool(turn and turn.ended_at)

    in_time = await _until(house, is_over, asked.timeout)
    turn = await house.database.read(partial(turns.of_message, message=message))
    found = await house.database.read(partial(messages.get, message=message))
    if found is None:
        raise BadInput(f"there is no message {message}.")
    if turn is None or turn.ended_at is None:
        session = await house.database.read(lambda db: known.get(db, found.recipient))
        if in_time:
            raise StillWorking(f"{session.name} may not have got the words ({found.step}).")
        raise StillWorking(_why(session, found))
    return turn


def _why(session: Session, message: Message) -> str:
    if message.waits_for:
        return f"the words for {session.name} wait: {message.waits_for}"
    doing = session.activity or session.status
    hint = f"See it later with:  rookery output {session.name}"
    reason = f" ({session.reason})" if session.reason else ""
    return f"{session.name} is {doing}{reason}. {hint}"


async def wait(house: House, caller: Caller, asked: WaitAsked) -> Session:
    """Wait until a session is up, stops (or needs somebody), or ends."""
    session = await house.database.read(partial(known.resolve, word=asked.session))

    def is_there(db: Connection) -> bool:
        now = known.get(db, session.id)
        if now.status.is_over:
            return True
        if asked.until == "up":
            return now.status == "running"
        if asked.until == "stop":
            resting = now.activity not in {None, Activity.WORKING}
            return resting and not messages.is_owed(db, session.id)
        return False

    in_time = await _until(house, is_there, asked.timeout)
    now = await house.database.read(lambda db: known.get(db, session.id))
    if not in_time:
        raise StillWorking(f"{now.name} is {now.activity or now.status}.")
    return now


async def show_turns(house: House, caller: Caller, asked: TurnsAsked) -> Turns:
    """Show what a session was asked and what it answered; or wait for more of it."""
    session = await house.database.read(partial(known.resolve, word=asked.session))

    def has_more(db: Connection) -> bool:
        over = known.get(db, session.id).status.is_over
        return over or turns.count_ended(db, session.id) > asked.after

    if asked.timeout:
        await _until(house, has_more, asked.timeout)

    def read(db: Connection) -> Turns:
        found = turns.of_session(db, session.id, last=asked.last)
        return Turns(found, turns.count_ended(db, session.id))

    return await house.database.read(read)


async def screen(house: House, caller: Caller, asked: ScreenAsked) -> Screen:
    """Show what stands on a session's screen."""
    session = await house.database.read(partial(known.resolve, word=asked.session))
    if session.status.is_over:
        file = house.home.artifacts / f"{session.id}.txt"
        kept = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return Screen(kept if asked.history else kept[-50:])
    return Screen(list(await house.runtime.read(session.id, history=asked.history)))


async def end(house: House, caller: Caller, asked: OfSession) -> Session:
    """End a session; accepted once it is written down. Ending twice does nothing."""
    session = await house.database.read(partial(known.resolve, word=asked.session))

    def write(db: Connection) -> Session:
        sessions.end(db, house.journal, session.id, by=caller.name)
        return known.get(db, session.id)

    return await _once(house, caller, Session, write)


async def end_all(house: House, caller: Caller, asked: Nothing) -> Ended:
    """End every session that we started and that lives."""

    def write(db: Connection) -> Ended:
        ended = [each for each in known.live(db) if each.runtime == "tmux"]
        for session in ended:
            sessions.end(db, house.journal, session.id, by=caller.name)
        return Ended([session.name for session in ended])

    return await _once(house, caller, Ended, write)


async def status(house: House, caller: Caller, asked: Nothing) -> DaemonStatus:
    """Say who answers here."""
    live = await house.database.read(known.live)
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        home=str(house.home.state),
        sessions=len(live),
        waiting=sum(each.activity in {"permission", "question"} for each in live),
        started_at=house.started_at,
        computer=house.journal.computer,
        tmux_socket=str(house.home.tmux),
        log=str(house.home.log),
    )


async def stop(house: House, caller: Caller, asked: Nothing) -> DaemonStatus:
    """Stop the daemon; agents in tmux live on."""
    answer = await status(house, caller, asked)
    house.stop()
    return answer


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("start", "POST", "/v1/sessions", StartAsked, Session, start),
    Operation("list", "GET", "/v1/sessions", ListAsked, Sessions, list_sessions),
    Operation("end_all", "POST", "/v1/sessions/end", Nothing, Ended, end_all),
    Operation("show", "GET", "/v1/sessions/{session}", OfSession, Session, show),
    Operation("send", "POST", "/v1/sessions/{session}/messages", SendAsked, Message, send),
    Operation("turns", "GET", "/v1/sessions/{session}/turns", TurnsAsked, Turns, show_turns),
    Operation("screen", "GET", "/v1/sessions/{session}/screen", ScreenAsked, Screen, screen),
    Operation("wait", "GET", "/v1/sessions/{session}/wait", WaitAsked, Session, wait),
    Operation("end", "POST", "/v1/sessions/{session}/end", OfSession, Session, end),
    Operation("answer", "GET", "/v1/messages/{message}/answer", AnswerAsked, Turn, answer),
    Operation("status", "GET", "/v1/status", Nothing, DaemonStatus, status),
    Operation("stop", "POST", "/v1/stop", Nothing, DaemonStatus, stop),
)


async def _until(house: House, question: Callable[[Connection], bool], seconds: float) -> bool:
    clock = house.journal.clock
    return await waits.until(house.database, question, seconds=seconds, clock=clock)


async def _once(
    house: House, caller: Caller, answers: type[T], do: Callable[[Connection], T]
) -> T:
    """Write, and under a key only once: asked again, it answers what it answered."""
    shape = TypeAdapter(answers)

    def write(db: Connection) -> str:
        at = house.journal.clock.now()
        return commands.once(db, caller.key, lambda db: shape.dump_json(do(db)).decode(), at)

    return shape.validate_json(await house.database.write(write))
