"""Operations on listeners: notify a session when others stop, or stop that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Annotated, Literal

from pydantic import Field

from rookery.coordination import listeners, wait_cycles
from rookery.model.errors import BadInput, CommandRefused, SessionOver
from rookery.model.facts import SessionId
from rookery.model.listeners import Listener, Until
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import reach, require_own, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Nothing, Params
from rookery.operations.session_waits import MAX_AWAITED_SESSIONS, Number, enough
from rookery.store import listeners as stored_listeners
from rookery.store import sessions
from rookery.store.listeners import ComposedWait

CALLER = Field("", description="the session that is told; your own, if you are one")


class ListenParams(Params):
    targets: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_AWAITED_SESSIONS)]
    caller: str = CALLER
    until: Until = Until.STOP
    repeat: bool = Field(False, description="told again and again, not only once")
    needed: Literal["each", "all", "any"] | Number = Field(
        "each", description="told of each apart, or once when all, any or so many are there"
    )
    timeout: Annotated[float, Field(gt=0, le=86_400 * 30)] | None = Field(
        None, description="seconds after which it is told who is not there yet"
    )


class UnlistenParams(Params):
    target: str
    caller: str = CALLER


@dataclass(frozen=True, slots=True)
class Listening:
    """What came of wanting to wait for one session."""

    target: SessionId
    listening: bool  #: false if it waits for the target already, or the target is over
    reason: str = ""
    ring: str = ""  #: the sessions that wait for each other because of it


@dataclass(frozen=True, slots=True)
class Listenings:
    listeners: list[Listening]


@dataclass(frozen=True, slots=True)
class Stopped:
    stopped: bool  #: false if there was nothing to stop


@dataclass(frozen=True, slots=True)
class Composed:
    """Several listeners of one caller whose news is sent together."""

    id: int
    needed: int  #: how many targets have to be there
    of: int  #: how many targets it has, including those that have reached the goal
    there: int
    deadline: datetime | None  #: when the caller is notified which targets are missing


@dataclass(frozen=True, slots=True)
class KnownListeners:
    listeners: list[Listener]
    waits: list[Composed]  #: the composed waits that some of the listeners belong to


async def listen(context: Context, caller: Caller, params: ListenParams) -> Listenings:
    """Notify a session when others stop, so that it need not poll."""
    listening_session = await require_own(context, caller, params.caller)
    targets = [await target(context, caller, word, Need.READ) for word in params.targets]
    new_listeners = [
        Listener(
            caller=listening_session.id,
            target=each.id,
            until=params.until,
            is_lasting=params.repeat,
        )
        for each in {each.id: each for each in targets}.values()
    ]
    is_one_wait = params.needed != "each" or params.timeout is not None
    if is_one_wait and params.repeat:
        raise BadInput("a wait for several sessions, or with a deadline, cannot repeat.")

    def write(db: Connection) -> Listenings:
        _require_reachable(sessions.get(db, listening_session.id))
        ids = {each.id for each in targets if sessions.get(db, each.id).status.is_over}
        over = [each for each in new_listeners if each.target in ids]
        alive = [each for each in new_listeners if each.target not in ids]
        # Targets that are over are reported at once, with the reason.
        answered = [
            _listen(db, context, each) for each in (over if is_one_wait else new_listeners)
        ]
        if is_one_wait and alive:
            answered += _listen_to_several(db, context, alive, params)
        return Listenings(answered)

    return await once(context, caller, Listenings, write)


def _require_reachable(caller: Session) -> None:
    """Refuse a caller that cannot be notified. Raises ``CommandRefused``."""
    if caller.status.is_over:
        raise SessionOver(f"{caller.name}; it can no longer be notified.")
    if not caller.can_receive:
        raise CommandRefused(f"{caller.name} has no pane and cannot be notified.")


def _listen(db: Connection, context: Context, listener: Listener) -> Listening:
    try:
        added = listeners.listen(db, context.journal, listener)
    except SessionOver as over:
        return Listening(listener.target, listening=False, reason=str(over.args[0]))
    reason = "" if added else "it waits for that one already"
    ring = wait_cycles.ring_of(db, listener)
    return Listening(listener.target, listening=added, reason=reason, ring=ring)


def _listen_to_several(
    db: Connection, context: Context, new_listeners: list[Listener], params: ListenParams
) -> list[Listening]:
    # Separate news of each, but a common deadline: that is one wait for all.
    needed = enough("all" if params.needed == "each" else params.needed, len(new_listeners))
    deadline = timedelta(seconds=params.timeout) if params.timeout is not None else None
    listeners.listen_to_several(
        db, context.journal, new_listeners, needed=needed, deadline=deadline
    )
    return [
        Listening(each.target, listening=True, ring=wait_cycles.ring_of(db, each))
        for each in new_listeners
    ]


async def unlisten(context: Context, caller: Caller, params: UnlistenParams) -> Stopped:
    """Remove a listener; the target keeps working."""
    listening_session = await require_own(context, caller, params.caller)
    target_session = await target(context, caller, params.target, Need.READ)

    def write(db: Connection) -> Stopped:
        removed = Listener(caller=listening_session.id, target=target_session.id)
        return Stopped(listeners.stop_listening(db, context.journal, removed))

    return await once(context, caller, Stopped, write)


async def list_listeners(context: Context, caller: Caller, params: Nothing) -> KnownListeners:
    """List the listeners."""

    def read(db: Connection) -> KnownListeners:
        allowed = reach(context, db, caller, Need.READ)
        all_listeners = stored_listeners.known(db)
        visible = [each for each in all_listeners if allowed is None or each.caller in allowed]
        parts = {each.wait for each in visible}
        waits = [
            _composed(db, each) for each in stored_listeners.known_waits(db) if each.id in parts
        ]
        return KnownListeners(visible, waits)

    return await context.database.read(read)


def _composed(db: Connection, wait: ComposedWait) -> Composed:
    reached = len(stored_listeners.heard(db, wait.id))
    every = reached + len(stored_listeners.awaited(db, wait.id))
    return Composed(wait.id, wait.needed, every, reached, wait.deadline)
