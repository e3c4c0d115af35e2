"""Operations that wait for one session, or for several at once."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from rookery.model.errors import StillWorking
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.long_poll import until
from rookery.operations.operation import Moment, OfSession, Params
from rookery.operations.sessions import doing
from rookery.store import backlog, flags, messages
from rookery.store import sessions as stored_sessions

#: How many sessions a caller may wait for at once.
MAX_AWAITED_SESSIONS = 100

Goal: TypeAlias = Literal["up", "stop", "end"]
Number: TypeAlias = Annotated[int, Field(ge=1, le=MAX_AWAITED_SESSIONS)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]


#: When the requests were made that a caller already knows: these do not end its wait.
Known: TypeAlias = Annotated[
    tuple[Moment, ...],
    Field(max_length=MAX_AWAITED_SESSIONS),
]


class WaitParams(OfSession):
    until: Goal = "stop"
    known: Known = Field(
        (), description="since when sessions ask something that does not end the wait"
    )
    timeout: Seconds = 600.0


class WaitForSeveralParams(Params):
    sessions: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_AWAITED_SESSIONS)]
    needed: Literal["all", "any"] | Number = Field(
        "all", description="how many of them have to get there"
    )
    until: Goal = "stop"
    known: Known = Field(
        (), description="since when sessions ask something that does not end the wait"
    )
    timeout: Seconds = 600.0


@dataclass(frozen=True, slots=True)
class Gathered:
    there: list[Session]  #: the sessions that reached the goal, in the order in which they did
    awaited: list[Session]  #: the others


async def wait(context: Context, caller: Caller, params: WaitParams) -> Session:
    """Wait until a session is up, stops (or needs input), or ends."""
    several = WaitForSeveralParams(
        sessions=(params.session,),
        until=params.until,
        known=params.known,
        timeout=params.timeout,
    )
    return (await wait_for_several(context, caller, several)).there[0]


async def wait_for_several(
    context: Context, caller: Caller, params: WaitForSeveralParams
) -> Gathered:
    """Wait until all of several sessions, any, or a number of them have got there."""
    targets = [await target(context, caller, word, Need.READ) for word in params.sessions]
    awaited = [*{each.id: each for each in targets}]
    needed = enough(params.needed, len(awaited))
    reached: list[SessionId] = []  # a session that has once reached the goal stays here

    def are_enough(db: Connection) -> bool:
        reached.extend(
            each for each in awaited if each not in reached and _reached(db, each, params)
        )
        return len(reached) >= needed

    in_time = await until(context, caller, are_enough, params.timeout, sessions=awaited)

    def read(db: Connection) -> Gathered:
        others = [each for each in awaited if each not in reached]
        if not in_time:
            why = ", ".join(_why_not(db, each, params.until) for each in others)
            raise StillWorking(f"{why}.")
        return Gathered(
            [stored_sessions.get(db, each) for each in reached],
            [stored_sessions.get(db, each) for each in others],
        )

    return await context.database.read(read)


def enough(needed: Literal["all", "any"] | int, every: int) -> int:
    """Return how many sessions have to reach the goal, out of ``every``."""
    if isinstance(needed, int):
        return min(needed, every)
    return every if needed == "all" else 1


def _reached(db: Connection, session: SessionId, params: WaitForSeveralParams) -> bool:
    """Return whether a session has reached the goal, or can never reach it."""
    now, goal = stored_sessions.get(db, session), params.until
    if now.status.is_over:
        return True
    if goal == "up":
        # Its start hook may arrive before its handle is recorded.
        is_held = not now.is_ours or stored_sessions.handle_of(db, session) is not None
        return now.status is Status.RUNNING and is_held
    if goal == "stop":
        # A session that asks has stopped even if messages are queued for it: they are
        # delivered only after a person has answered.
        is_idle = now.activity is Activity.IDLE
        asks = now.is_asking and now.since not in params.known
        return asks or (is_idle and not messages.is_owed(db, session))
    return False


def _why_not(db: Connection, session: SessionId, goal: Goal) -> str:
    """Return what a session does now and, for the goal "stop", why messages for it wait."""
    now = stored_sessions.get(db, session)
    queued = backlog.kept_words(db).get(session) if goal == "stop" else None
    if queued is None:
        why = ""
    elif flags.is_holding(db):
        why = "; messages for it are held (`rookery release` delivers them)"
    elif now.status is Status.STARTING:
        why = ""  # the message that waits is its prompt
    elif now.activity is not Activity.IDLE:
        why = "; more messages wait for it"
    else:
        typed = queued.obstacle.removesuffix(".")
        why = f"; messages for it wait: {typed}" if typed else ""
    return f"{now.name} {doing(now)}{why}"
