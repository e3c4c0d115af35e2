"""Operations on foregrounds: show a session to the user as it works, or stop that."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated, TypeAlias

from pydantic import Field

from rookery.model.actors import Actor, ActorKind
from rookery.model.errors import BadInput, Forbidden
from rookery.model.facts import ForegroundEntered, ForegroundLeft, SessionId
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import Session, Turn
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import OfSession, Params
from rookery.store import current_sessions, foregrounds, journal_entries
from rookery.store import sessions as stored_sessions
from rookery.store.foregrounds import InFront

#: Every terminal in which the user runs `rookery follow`.
TERMINAL = "terminal"

CHANNELS = (TERMINAL,)

#: The most missed turns that are returned; earlier ones are only counted.
MAX_MISSED_TURNS = 200

Number: TypeAlias = Annotated[int, Field(ge=0, le=2**62)]


class OnChannel(OfSession):
    channel: str = Field(TERMINAL, description="where the person is shown it")


class BackgroundParams(OnChannel):
    seen: Number | None = Field(None, description="turns up to this one were shown")


class ForegroundParams(BackgroundParams):
    brings: bool = Field(True, description="false: only look whether it is there")
    last: Annotated[int, Field(ge=0, le=MAX_MISSED_TURNS)] = MAX_MISSED_TURNS


class ShownParams(OnChannel):
    seen: Number = Field(description="turns up to this one were shown")


class ForegroundsParams(Params):
    channel: str = TERMINAL


@dataclass(frozen=True, slots=True)
class Foreground:
    """A session in front, and what was missed of it."""

    session: Session
    channel: str
    is_there: bool  #: false if it is over, or was not put into the foreground
    is_new: bool  #: it was not there before
    seen: int  #: the last turn that was shown there; 0 if none was
    missed: list[Turn]  #: that ended and were not shown there; oldest first
    omitted: int  #: how many earlier turns are left out
    running: list[Turn]
    as_of: int  #: the last entry that is included here


@dataclass(frozen=True, slots=True)
class Background:
    session: SessionId
    channel: str
    was_in_front: bool


@dataclass(frozen=True, slots=True)
class Shown:
    session: SessionId
    channel: str
    seen: int
    following: Turn | None  #: the next turn that ended, to show now


@dataclass(frozen=True, slots=True)
class Foregrounds:
    foregrounds: list[InFront]


async def foreground(context: Context, caller: Caller, params: ForegroundParams) -> Foreground:
    """Put a session into the foreground; returns what was missed.

    An ended session is only shown: it does not enter the foreground.
    """
    session = await _target(context, caller, params)
    _require_may_mark_seen(caller, params.seen)

    def write(db: Connection) -> Foreground:
        if params.seen is not None:
            foregrounds.mark(db, session.id, params.channel, seen=params.seen)
        is_new = params.brings and _enter(db, context, caller, params.channel, session.id)
        seen = foregrounds.seen(db, session.id, params.channel)
        missed = foregrounds.missed(db, session.id, after=seen, last=params.last)
        return Foreground(
            session=stored_sessions.get(db, session.id),
            channel=params.channel,
            is_there=foregrounds.bringer(db, session.id, params.channel) is not None,
            is_new=is_new,
            seen=seen,
            missed=missed.turns,
            omitted=missed.omitted,
            running=foregrounds.running(db, session.id),
            as_of=journal_entries.last_number(db),
        )

    return await once(context, caller, Foreground, write)


def _enter(
    db: Connection, context: Context, caller: Caller, channel: str, session: SessionId
) -> bool:
    """Put a session into the foreground, unless it is over. Return whether it is new there."""
    if stored_sessions.get(
        db, session
    ).status.is_over:  # an ended session has nothing more to show
        return False
    now = context.journal.clock.now()
    is_new = foregrounds.enter(db, session, channel, by=caller.name, at=now)
    if is_new:
        context.journal.append(db, ForegroundEntered(session, channel, caller.name))
    elif caller.identity.scope is Scope.OWNER:
        foregrounds.claim(db, session, channel, by=caller.name)
    return is_new


async def shown(context: Context, caller: Caller, params: ShownParams) -> Shown:
    """Record how far a session was shown; returns what to show next."""
    session = await _target(context, caller, params)

    def write(db: Connection) -> Shown:
        foregrounds.mark(db, session.id, params.channel, seen=params.seen)
        current_sessions.mark_turn_seen(db, session.id, turn=params.seen)
        # After what this caller has shown: another one may show the same at the same time.
        following = foregrounds.following(db, session.id, after=params.seen)
        return Shown(session.id, params.channel, params.seen, following)

    return await once(context, caller, Shown, write)


async def background(context: Context, caller: Caller, params: BackgroundParams) -> Background:
    """Put a session into the background; it keeps working. Repeating does nothing."""
    session = await _target(context, caller, params)
    _require_may_mark_seen(caller, params.seen)

    def write(db: Connection) -> Background:
        if params.seen is not None:
            foregrounds.mark(db, session.id, params.channel, seen=params.seen)
        _require_may_put_back(caller, foregrounds.bringer(db, session.id, params.channel))
        was_in_front = foregrounds.leave(db, session.id, params.channel)
        if was_in_front:
            context.journal.append(db, ForegroundLeft(session.id, params.channel, caller.name))
        return Background(session.id, params.channel, was_in_front)

    return await once(context, caller, Background, write)


async def list_foregrounds(
    context: Context, caller: Caller, params: ForegroundsParams
) -> Foregrounds:
    """List the sessions that are in the foreground of a channel."""
    require_a_channel(params.channel)

    def read(db: Connection) -> Foregrounds:
        allowed = reach(context, db, caller, Need.READ)
        in_foreground = foregrounds.in_front(db, params.channel)
        return Foregrounds(
            [each for each in in_foreground if allowed is None or each.session in allowed]
        )

    return await context.database.read(read)


async def _target(context: Context, caller: Caller, params: OnChannel) -> Session:
    require_a_channel(params.channel)
    # Showing a session sends it no text, so an agent may also show a plain program.
    return await target(context, caller, params.session, Need.READ)


def require_a_channel(channel: str) -> None:
    """Refuse a channel that shows no sessions. Raises ``BadInput``."""
    if channel not in CHANNELS:
        channels = ", ".join(CHANNELS)
        raise BadInput(
            f"unknown channel {channel[:SHOWN_NAME_CHARACTERS]!r}; known: {channels}."
        )


def _require_may_put_back(caller: Caller, by: str | None) -> None:
    """Refuse an agent that removes what a person put there. Raises ``Forbidden``."""
    is_agent = caller.identity.scope is not Scope.OWNER
    if is_agent and by is not None and Actor.read(by).kind is not ActorKind.SESSION:
        raise Forbidden(
            "a person has brought it to the foreground; only a person may put it back."
        )


def _require_may_mark_seen(caller: Caller, seen: int | None) -> None:
    """Refuse an agent that marks turns as shown: it could hide them. Raises ``Forbidden``."""
    if seen is not None and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("only the client that has shown a turn may report it as shown.")
