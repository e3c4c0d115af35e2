"""Operations that mainly agents use: a session's data, and commands for its own program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery import __version__
from rookery.model.errors import CommandRefused, Forbidden, RuntimeFailed, WordsRefused
from rookery.model.lifecycle import ASKING, Activity
from rookery.model.messages import Message, Step, Words, clean
from rookery.model.scopes import Need
from rookery.model.sessions import Session, Turn
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.links import Link, link
from rookery.operations.sessions import ScreenParams, require_alive, screen
from rookery.operations.table import Nothing, OfSession
from rookery.permissions.project_files import require_own_command
from rookery.ports.transcript import Passage
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import sessions as known
from rookery.store import turns
from rookery.tracking.transcript_files import TimeSpan
from rookery.tracking.transcript_reader import TranscriptRange, end_of

#: Characters of what was said that are returned by default.
DEFAULT_TAIL_CHARACTERS = 8_000

#: The most turns that are searched.
MAX_SEARCHED_TURNS = 1_000

#: A command of an agent's own program: one line that begins with its name.
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]{0,63})( [^\r\n]*)?")

#: The commands that one agent may give another's program, besides those that the owner lists in
#: ``trust.commands``: they affect only the conversation.
ALLOWED = frozenset({"clear", "compact", "context", "cost", "review"})


class CommandParams(OfSession):
    command: str = Field(description="as one types it, such as '/compact'")
    listen: bool = Field(False, description="tell the session that asks when it is done")


class DataParams(OfSession):
    since: datetime | None = Field(None, description="only what was said after this")
    until: datetime | None = Field(None, description="only what was said before this")
    tail_chars: Annotated[int, Field(ge=1, le=200_000)] = DEFAULT_TAIL_CHARACTERS


@dataclass(frozen=True, slots=True)
class SessionData:
    """What a session was asked, said and did last, and what stands on its screen."""

    session: Session
    turns: list[Turn]  #: oldest first; the first one may be cut to its end
    omitted: int  #: how many earlier turns did not fit
    transcript: list[Passage]  #: oldest first; what else its agent recorded in that time
    screen: str  #: while the session asks something, or if nothing was recorded


@dataclass(frozen=True, slots=True)
class Computer:
    name: str
    is_local: bool
    version: str  #: of Rookery
    agents: list[str]  #: that can be started there


@dataclass(frozen=True, slots=True)
class Computers:
    computers: list[Computer]


@dataclass(frozen=True, slots=True)
class Project:
    path: str
    sessions: int  #: that worked in it
    live: int  #: that work in it now
    last_used: datetime


@dataclass(frozen=True, slots=True)
class Projects:
    projects: list[Project]


async def list_computers(context: Context, caller: Caller, params: Nothing) -> Computers:
    """List the computers where sessions can be."""
    name, agents = context.journal.computer, sorted(context.agents)
    return Computers([Computer(name, is_local=True, version=__version__, agents=agents)])


async def list_projects(context: Context, caller: Caller, params: Nothing) -> Projects:
    """List the folders in which sessions work or worked, those used last first."""

    def read(db: Connection) -> Projects:
        allowed = reach(context, db, caller, Need.READ)
        found: dict[str, Project] = {}
        for row in known.places(db):
            if allowed is None or row["id"] in allowed:
                at = datetime.fromisoformat(row["at"])
                before = found.get(row["path"]) or Project(row["path"], 0, 0, at)
                number, live = before.sessions + 1, before.live + row["live"]
                found[row["path"]] = replace(before, sessions=number, live=live)
        return Projects(list(found.values()))

    return await context.database.read(read)


async def command(context: Context, caller: Caller, params: CommandParams) -> Message:
    """Give a command to an agent's own program, such as /compact; once it is idle."""
    # A command may end or change the agent: the right to send it messages is not enough.
    session = await target(context, caller, params.session, Need.END)
    require_alive(session)
    words = _checked(context, caller, session, params.command)
    if caller.identity.session is not None:
        await require_own_command(session, words.text)
    with suppress(RuntimeFailed):  # not up yet: checked again when the text is typed
        context.runtime.check(session.id, words.text)

    def write(db: Connection) -> Message:
        speaker = MessageSender(caller.name, caller.identity.session, is_command=True)
        message = commands.send(
            db, context.journal, speaker=speaker, recipient=session.id, words=words
        )
        wanted = Link(session.id, message, direct=False, listen=params.listen)
        listening = link(db, context, caller, wanted)
        return Message(message, session.id, Step.PENDING, words.removed, listening=listening)

    return await once(context, caller, Message, write)


def _checked(context: Context, caller: Caller, session: Session, given: str) -> Words:
    """Return the command as cleaned text. Refuse all but a command that the caller may give."""
    if context.agents[session.agent].screen is None:
        raise CommandRefused(f"{session.agent} has no commands of its own; send it words.")
    words = clean(given.strip())
    found = _COMMAND.fullmatch(words.text)
    if found is None:
        raise WordsRefused("a command is one line that begins with its name, such as /compact.")
    if caller.identity.session is not None:
        _require_allowed(found[1], ALLOWED.union(context.settings.trust.commands))
    return words


def _require_allowed(name: str, allowed: AbstractSet[str]) -> None:
    """Refuse a command that only a person may give. Raises ``Forbidden``."""
    if name not in allowed:
        named = ", ".join(f"/{each}" for each in sorted(allowed))
        raise Forbidden(f"/{name} is for a person to type; a session may give: {named}.")


async def show_data(context: Context, caller: Caller, params: DataParams) -> SessionData:
    """Show what a session was asked, said and did last; and its screen, where that tells more.

    Turns come first; from its transcript comes what they do not have.
    """
    session = await target(context, caller, params.session, Need.READ)
    between = (_in_utc(params.since), _in_utc(params.until))

    def read(db: Connection) -> list[Turn]:
        return turns.between(db, session.id, *between, last=MAX_SEARCHED_TURNS)

    found = await context.database.read(read)
    kept = _tail(found, params.tail_chars)
    omitted = len(found) - len(kept)
    wanted = TranscriptRange(
        _span(session, *between), params.tail_chars, _texts(found[omitted:])
    )
    passages = await context.conversations.read(context.database, session, wanted)
    shown = ""
    is_told = bool(passages) or (bool(found) and session.activity is Activity.IDLE)
    # A screen shows only the present.
    if params.until is None and (session.activity in ASKING or not is_told):
        shown = await _shown(context, caller, session, params.tail_chars)
    return SessionData(session, kept, omitted, passages, shown)


def _span(session: Session, since: datetime | None, until: datetime | None) -> TimeSpan:
    """Return the requested time span, limited to the session's own."""
    own = TimeSpan.of(session)
    return TimeSpan(max(own.since, since or own.since), min(own.until, until or own.until))


def _texts(found: Sequence[Turn]) -> frozenset[str]:
    return frozenset(text.strip() for turn in found for text in (turn.prompt, turn.answer))


def _in_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _tail(found: Sequence[Turn], room: int) -> list[Turn]:
    """Return the last turns that fit into ``room`` characters; long texts keep their ends."""
    kept: list[Turn] = []
    for turn in reversed(found):
        if room <= 0:
            break
        answer = end_of(turn.answer, room)
        room -= len(turn.answer)
        prompt = end_of(turn.prompt, max(room, 0))
        room -= len(turn.prompt)
        kept.append(replace(turn, prompt=prompt, answer=answer))
    return kept[::-1]


async def _shown(context: Context, caller: Caller, session: Session, room: int) -> str:
    try:
        params = ScreenParams(session=session.id, history=True)
        lines = (await screen(context, caller, params)).lines
    except (CommandRefused, RuntimeFailed):  # it has no pane, or not any more
        return ""
    return end_of("\n".join(line.rstrip() for line in lines).strip("\n"), room)
