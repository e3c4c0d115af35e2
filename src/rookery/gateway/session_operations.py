"""What can be asked of sessions: start them, list them, read them, speak to them, end them."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Annotated, Any, Literal

from pydantic import Field

from rookery import sessions
from rookery.environment import session_environment
from rookery.gateway.table import (
    Asked,
    Caller,
    House,
    Nothing,
    OfSession,
    Operation,
    once,
    reach,
    target,
    until,
)
from rookery.model.errors import BadInput, Forbidden, LimitReached, RuntimeFailed, StillWorking
from rookery.model.facts import KeysPressed
from rookery.model.lifecycle import Activity, Status
from rookery.model.messages import Message, MessageId, Step, clean
from rookery.model.names import checked
from rookery.model.scopes import DEEPEST, MOST_CHILDREN, Need, Scope, is_within
from rookery.model.sessions import TMUX, Session, Turn
from rookery.store import families, messages, turns
from rookery.store import sessions as known

ONE, MESSAGE = "/v1/sessions/{session}", "/v1/messages/{message}"


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
    message: Annotated[int, Field(ge=0, le=2**62)]
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


class RenameAsked(OfSession):
    name: str


class KeysAsked(OfSession):
    keys: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


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


async def start(house: House, caller: Caller, asked: StartAsked) -> Session:
    """Start an agent; accepted once it is written down."""
    _require_a_name_of_an_agent(caller, asked)
    wanted = sessions.Start(**asked.model_dump(), parent=caller.identity.session)
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

    def accept(db: Connection) -> Session:
        _check_child(db, caller, asked)
        return sessions.accept(db, house.journal, plan, owner=caller.name)

    return await once(house, caller, Session, accept)


def _require_a_name_of_an_agent(caller: Caller, asked: StartAsked) -> None:
    """Keep free command lines for the owner at this computer."""
    if caller.identity.scope is not Scope.OWNER or caller.identity.door != "unix":
        if asked.agent == "shell":
            raise Forbidden("a shell is for the owner on this computer's own socket.")
        if asked.environment:
            raise Forbidden("an environment is for the owner on this computer's own socket.")


def _check_child(db: Connection, caller: Caller, asked: StartAsked) -> None:
    """Let a session start no more, no deeper and no freer than it may."""
    if (own := caller.identity.session) is None:
        return
    if len(families.ancestors(db, own)) + 1 > DEEPEST:
        raise LimitReached(f"{DEEPEST} generations.")
    children = families.descendants(db, own)
    if sum(not known.get(db, each).status.is_over for each in children) >= MOST_CHILDREN:
        raise LimitReached(f"{MOST_CHILDREN} descendants of one session.")
    mode = known.get(db, own).permission_mode
    if not is_within(asked.permission_mode, mode):
        raise Forbidden(
            f"a child's permission mode is at most its parent's ({mode or 'default'})."
        )


async def list_sessions(house: House, caller: Caller, asked: ListAsked) -> Sessions:
    """List the sessions that live, and those that ended not long ago."""
    hours = timedelta(hours=house.settings.limits.listed_hours)
    now = house.journal.clock.now()
    since = datetime.fromtimestamp(0, now.tzinfo) if asked.all else now - hours

    def read(db: Connection) -> Sessions:
        allowed = reach(house, db, caller, Need.READ)
        found = known.listed(db, ended_after=since)
        return Sessions([each for each in found if allowed is None or each.id in allowed])

    return await house.database.read(read)


async def show(house: House, caller: Caller, asked: OfSession) -> Session:
    """Show one session."""
    return await target(house, caller, asked.session, Need.READ)


async def send(house: House, caller: Caller, asked: SendAsked) -> Message:
    """Send words to a session; it gets them once it is idle."""
    words = clean(asked.words)
    session = await target(house, caller, asked.session, Need.SPEAK)
    with suppress(RuntimeFailed):  # not up yet: it is checked again when they are typed
        house.runtime.check(session.id, words.text)

    def write(db: Connection) -> Message:
        message = sessions.send(
            db, house.journal, sender=caller.name, recipient=session.id, words=words
        )
        return Message(message, session.id, Step.PENDING, words.removed)

    return await once(house, caller, Message, write)


async def answer(house: House, caller: Caller, asked: AnswerAsked) -> Turn:
    """Wait for the end of the turn that took a message up."""
    message = MessageId(asked.message)
    written = await house.database.read(partial(messages.get, message=message))
    if written is None:
        raise BadInput(f"there is no message {message}.")
    session = await target(house, caller, written.recipient, Need.READ)

    def is_over(db: Connection) -> bool:
        found = messages.get(db, message)
        turn = turns.of_message(db, message)
        lost = found is None or found.step in {Step.FAILED, Step.UNSURE}
        return lost or bool(turn and turn.ended_at)

    in_time = await until(house, is_over, asked.timeout)
    turn = await house.database.read(partial(turns.of_message, message=message))
    if turn and turn.ended_at:
        return turn
    found = await house.database.read(partial(messages.get, message=message)) or written
    session = await house.database.read(lambda db: known.get(db, session.id))
    if in_time:
        raise StillWorking(f"{session.name} may not have got the words ({found.step}).")
    raise StillWorking(_why(session, found))


def _why(session: Session, message: Message) -> str:
    if message.waits_for:
        return f"the words for {session.name} wait: {message.waits_for}"
    doing = session.activity or session.status
    hint = f"See it later with:  rookery output {session.name}"
    reason = f" ({session.reason})" if session.reason else ""
    return f"{session.name} is {doing}{reason}. {hint}"


async def wait(house: House, caller: Caller, asked: WaitAsked) -> Session:
    """Wait until a session is up, stops (or needs somebody), or ends."""
    session = await target(house, caller, asked.session, Need.READ)

    def is_there(db: Connection) -> bool:
        now = known.get(db, session.id)
        if now.status.is_over:
            return True
        if asked.until == "up":
            return now.status is Status.RUNNING
        if asked.until == "stop":
            resting = now.activity not in {None, Activity.WORKING}
            return resting and not messages.is_owed(db, session.id)
        return False

    in_time = await until(house, is_there, asked.timeout)
    now = await house.database.read(lambda db: known.get(db, session.id))
    if not in_time:
        raise StillWorking(f"{now.name} is {now.activity or now.status}.")
    return now


async def show_turns(house: House, caller: Caller, asked: TurnsAsked) -> Turns:
    """Show what a session was asked and what it answered; or wait for more of it."""
    session = await target(house, caller, asked.session, Need.READ)

    def has_more(db: Connection) -> bool:
        over = known.get(db, session.id).status.is_over
        return over or turns.count_ended(db, session.id) > asked.after

    if asked.timeout:
        await until(house, has_more, asked.timeout)

    def read(db: Connection) -> Turns:
        found = turns.of_session(db, session.id, last=asked.last)
        return Turns(found, turns.count_ended(db, session.id))

    return await house.database.read(read)


async def screen(house: House, caller: Caller, asked: ScreenAsked) -> Screen:
    """Show what stands on a session's screen."""
    session = await target(house, caller, asked.session, Need.READ)
    if session.status.is_over:
        file = house.home.artifacts / f"{session.id}.txt"
        kept = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return Screen(kept if asked.history else kept[-50:])
    return Screen(list(await house.runtime.read(session.id, history=asked.history)))


async def end(house: House, caller: Caller, asked: OfSession) -> Session:
    """End a session; accepted once it is written down. Ending twice does nothing."""
    session = await target(house, caller, asked.session, Need.END)

    def write(db: Connection) -> Session:
        sessions.end(db, house.journal, session.id, by=caller.name)
        return known.get(db, session.id)

    return await once(house, caller, Session, write)


async def end_all(house: House, caller: Caller, asked: Nothing) -> Ended:
    """End every session that we started and that lives."""

    def write(db: Connection) -> Ended:
        ended = [each for each in known.live(db) if each.runtime == TMUX]
        for session in ended:
            sessions.end(db, house.journal, session.id, by=caller.name)
        return Ended([session.name for session in ended])

    return await once(house, caller, Ended, write)


async def rename(house: House, caller: Caller, asked: RenameAsked) -> Session:
    """Give a session another name."""
    session = await target(house, caller, asked.session, Need.OWN)
    name = checked(asked.name)

    def write(db: Connection) -> Session:
        sessions.rename(db, house.journal, session.id, name=name)
        return known.get(db, session.id)

    return await once(house, caller, Session, write)


async def press(house: House, caller: Caller, asked: KeysAsked) -> Session:
    """Press keys, whatever is on the screen: this is how a dialog is answered by hand."""
    session = await target(house, caller, asked.session, Need.OWN)
    house.runtime.check_keys(*asked.keys)
    await house.runtime.press(session.id, *asked.keys)
    return await _note(
        house, caller, KeysPressed(session.id, " ".join(asked.keys), caller.name)
    )


async def interrupt(house: House, caller: Caller, asked: OfSession) -> Session:
    """Stop the present turn, as its person would."""
    session = await target(house, caller, asked.session, Need.END)
    key = house.agents[session.agent].interrupt
    await house.runtime.press(session.id, key)
    return await _note(house, caller, KeysPressed(session.id, key, caller.name))


async def _note(house: House, caller: Caller, pressed: KeysPressed) -> Session:
    def write(db: Connection) -> Session:
        house.journal.append(db, pressed)
        return known.get(db, pressed.session)

    return await once(house, caller, Session, write)


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("start", Need.START, "POST", "/v1/sessions", StartAsked, Session, start),
    Operation("list", Need.READ, "GET", "/v1/sessions", ListAsked, Sessions, list_sessions),
    Operation("end_all", Need.OWN, "POST", "/v1/sessions/end", Nothing, Ended, end_all),
    Operation("show", Need.READ, "GET", f"{ONE}", OfSession, Session, show),
    Operation("send", Need.SPEAK, "POST", f"{ONE}/messages", SendAsked, Message, send),
    Operation("turns", Need.READ, "GET", f"{ONE}/turns", TurnsAsked, Turns, show_turns),
    Operation("screen", Need.READ, "GET", f"{ONE}/screen", ScreenAsked, Screen, screen),
    Operation("wait", Need.READ, "GET", f"{ONE}/wait", WaitAsked, Session, wait),
    Operation("end", Need.END, "POST", f"{ONE}/end", OfSession, Session, end),
    Operation("interrupt", Need.END, "POST", f"{ONE}/interrupt", OfSession, Session, interrupt),
    Operation("keys", Need.OWN, "POST", f"{ONE}/keys", KeysAsked, Session, press),
    Operation("rename", Need.OWN, "POST", f"{ONE}/name", RenameAsked, Session, rename),
    Operation("answer", Need.READ, "GET", f"{MESSAGE}/answer", AnswerAsked, Turn, answer),
)
