"""What can be asked of foregrounds: show a session to a person as it goes on, or no more."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from rookery.gateway.session_operations import ONE
from rookery.gateway.table import (
    Asked,
    Caller,
    House,
    OfSession,
    Operation,
    once,
    reach,
    target,
)
from rookery.model.actors import Actor, ActorKind
from rookery.model.errors import BadInput, Forbidden
from rookery.model.facts import ForegroundEntered, ForegroundLeft, SessionId
from rookery.model.names import SHOWN
from rookery.model.scopes import Need, Scope
from rookery.model.sessions import Session, Turn
from rookery.store import entries, foregrounds
from rookery.store import sessions as known
from rookery.store.foregrounds import InFront

#: Wherever somebody runs `rookery fg`.
TERMINAL = "terminal"

CHANNELS = (TERMINAL,)

#: Turns that whoever comes back is shown; of those before, only how many there were.
MOST = 200

Number: TypeAlias = Annotated[int, Field(ge=0, le=2**62)]


class OnChannel(OfSession):
    channel: str = Field(TERMINAL, description="where the person is shown it")


class BackgroundAsked(OnChannel):
    seen: Number | None = Field(None, description="turns up to this one were shown")


class ForegroundAsked(BackgroundAsked):
    brings: bool = Field(True, description="false: only look whether it is there")
    last: Annotated[int, Field(ge=0, le=MOST)] = MOST


class ShownAsked(OnChannel):
    seen: Number = Field(description="turns up to this one were shown")


class ForegroundsAsked(Asked):
    channel: str = TERMINAL


@dataclass(frozen=True, slots=True)
class Foreground:
    """A session in front, and what was missed of it."""

    session: Session
    channel: str
    is_there: bool  #: false of one that is over, or that nobody has brought
    is_new: bool  #: it was not there before
    seen: int  #: the last turn that was shown there; 0 if none was
    missed: list[Turn]  #: that ended and were not shown there; oldest first
    omitted: int  #: how many more there were before those
    running: list[Turn]
    as_of: int  #: the last entry that all of this tells of


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
    following: Turn | None  #: that ended after it, and is to be shown now


@dataclass(frozen=True, slots=True)
class Foregrounds:
    foregrounds: list[InFront]


async def foreground(house: House, caller: Caller, asked: ForegroundAsked) -> Foreground:
    """Show what a session says as it comes; answers what was missed of it.

    Of one that is over it only answers that.
    """
    session = await _found(house, caller, asked)
    _require_a_shower(caller, asked.seen)

    def write(db: Connection) -> Foreground:
        if asked.seen is not None:
            foregrounds.mark(db, session.id, asked.channel, seen=asked.seen)
        is_new = asked.brings and _enter(db, house, caller, asked.channel, session.id)
        seen = foregrounds.seen(db, session.id, asked.channel)
        missed = foregrounds.missed(db, session.id, after=seen, last=asked.last)
        return Foreground(
            session=known.get(db, session.id),
            channel=asked.channel,
            is_there=foregrounds.bringer(db, session.id, asked.channel) is not None,
            is_new=is_new,
            seen=seen,
            missed=missed.turns,
            omitted=missed.omitted,
            running=foregrounds.running(db, session.id),
            as_of=entries.last_number(db),
        )

    return await once(house, caller, Foreground, write)


def _enter(
    db: Connection, house: House, caller: Caller, channel: str, session: SessionId
) -> bool:
    """Bring a session to the front. One that is over says nothing more: it is not brought."""
    if known.get(db, session).status.is_over:
        return False
    now = house.journal.clock.now()
    is_new = foregrounds.enter(db, session, channel, by=caller.name, at=now)
    if is_new:
        house.journal.append(db, ForegroundEntered(session, channel, caller.name))
    elif caller.identity.scope is Scope.OWNER:
        foregrounds.claim(db, session, channel, by=caller.name)
    return is_new


async def shown(house: House, caller: Caller, asked: ShownAsked) -> Shown:
    """Say how far a session was shown, in front or not; answers what is to be shown next."""
    session = await _found(house, caller, asked)

    def write(db: Connection) -> Shown:
        foregrounds.mark(db, session.id, asked.channel, seen=asked.seen)
        # After what this one has shown: another may show the same at the same time.
        following = foregrounds.following(db, session.id, after=asked.seen)
        return Shown(session.id, asked.channel, asked.seen, following)

    return await once(house, caller, Shown, write)


async def background(house: House, caller: Caller, asked: BackgroundAsked) -> Background:
    """Show a session no more; it goes on. Twice does nothing."""
    session = await _found(house, caller, asked)
    _require_a_shower(caller, asked.seen)

    def write(db: Connection) -> Background:
        if asked.seen is not None:
            foregrounds.mark(db, session.id, asked.channel, seen=asked.seen)
        _require_a_bringer(caller, foregrounds.bringer(db, session.id, asked.channel))
        was_in_front = foregrounds.leave(db, session.id, asked.channel)
        if was_in_front:
            house.journal.append(db, ForegroundLeft(session.id, asked.channel, caller.name))
        return Background(session.id, asked.channel, was_in_front)

    return await once(house, caller, Background, write)


async def list_foregrounds(
    house: House, caller: Caller, asked: ForegroundsAsked
) -> Foregrounds:
    """List the sessions that are in the foreground of a channel."""
    _require_a_channel(asked.channel)

    def read(db: Connection) -> Foregrounds:
        allowed = reach(house, db, caller, Need.READ)
        found = foregrounds.in_front(db, asked.channel)
        return Foregrounds(
            [each for each in found if allowed is None or each.session in allowed]
        )

    return await house.database.read(read)


async def _found(house: House, caller: Caller, asked: OnChannel) -> Session:
    _require_a_channel(asked.channel)
    # Showing it gives it no words: a plain program may be brought by an agent, too.
    return await target(house, caller, asked.session, Need.READ)


def _require_a_channel(channel: str) -> None:
    if channel not in CHANNELS:
        there = ", ".join(CHANNELS)
        raise BadInput(f"there is no channel {channel[:SHOWN]!r}; there is: {there}.")


def _require_a_bringer(caller: Caller, by: str | None) -> None:
    """Let no agent take away what its person looks at. Raises ``Forbidden``."""
    is_agent = caller.identity.scope is not Scope.OWNER
    if is_agent and by is not None and Actor.read(by).kind is not ActorKind.SESSION:
        raise Forbidden("a person has brought it to the foreground, and puts it back.")


def _require_a_shower(caller: Caller, seen: int | None) -> None:
    """Let no agent hide from its person what was not shown. Raises ``Forbidden``."""
    if seen is not None and caller.identity.scope is not Scope.OWNER:
        raise Forbidden("what a person has seen is for those to say who have shown it.")


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation(
        *("foreground", Need.SPEAK, "POST", f"{ONE}/foreground"),
        *(ForegroundAsked, Foreground, foreground),
    ),
    Operation("shown", Need.OWN, "POST", f"{ONE}/shown", ShownAsked, Shown, shown),
    Operation(
        *("background", Need.SPEAK, "POST", f"{ONE}/background"),
        *(BackgroundAsked, Background, background),
    ),
    Operation(
        *("foregrounds", Need.READ, "GET", "/v1/foregrounds"),
        *(ForegroundsAsked, Foregrounds, list_foregrounds),
    ),
)
