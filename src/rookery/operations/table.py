"""Define operations and their callers, and the helpers that operations share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from sqlite3 import Connection
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from rookery.config import Settings
from rookery.home import Home
from rookery.http_port import HttpPort
from rookery.model.errors import (
    BadInput,
    Forbidden,
    NotRunning,
    SessionUnknown,
    TokenRevoked,
)
from rookery.model.facts import SessionId
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.scopes import MAY, Identity, Need, Scope
from rookery.model.sessions import Session
from rookery.operations.key_locks import KeyLocks
from rookery.permissions.decisions import Permissions
from rookery.ports.agent import Agent
from rookery.ports.runtime import Runtime
from rookery.store import commands, families, relays, sessions, tokens, waiting
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import first_of
from rookery.tracking.discovery import Discovery
from rookery.tracking.transcript_reader import TranscriptReader


class Streams:
    """The open event streams and waits by their callers' tokens, so that they can be ended."""

    def __init__(self) -> None:
        self._open: dict[str | None, set[asyncio.Event]] = {}
        self._are_over = False

    @contextmanager
    def opened(self, token: str | None) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the stream must end."""
        over = asyncio.Event()
        if self._are_over:
            over.set()
        self._open.setdefault(token, set()).add(over)
        try:
            yield over
        finally:
            self._open[token].discard(over)

    def close(self, token: str) -> None:
        for over in self._open.get(token, ()):
            over.set()

    def close_all(self) -> None:
        """End all streams, and every stream that is opened later: the daemon is stopping."""
        self._are_over = True
        for streams in self._open.values():
            for over in streams:
                over.set()


@dataclass(frozen=True, slots=True)
class Context:
    """The services and settings that operations use."""

    database: Database
    journal: Journal
    runtime: Runtime
    #: Returns the session whose program is one of these processes (``Process.word``).
    holder_of: Callable[[Sequence[str]], SessionId | None]
    agents: Mapping[str, Agent]
    discovery: Discovery
    conversations: TranscriptReader
    permissions: Permissions
    commands: Mapping[str, tuple[str, ...]]  #: by agent: what to run instead of its program
    settings: Settings
    home: Home
    login: Mapping[str, str]  #: the environment of the user's login shell
    started_at: datetime
    stop: Callable[[], None]
    streams: Streams = field(default_factory=Streams)
    loopback: HttpPort = field(default_factory=HttpPort)
    key_locks: KeyLocks = field(default_factory=KeyLocks)


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request, and its idempotency key."""

    identity: Identity
    key: commands.Key | None = None

    @property
    def name(self) -> str:
        return self.identity.name


class Params(BaseModel):
    # Built on first use: building all models takes a fifth of the daemon's startup time.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Nothing(Params):
    pass


class OfSession(Params):
    session: str = Field(description="id, name, native id, or the beginning of one")


A = TypeVar("A", bound=Params)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Operation(Generic[A, T]):
    name: str
    need: Need
    method: Literal["GET", "POST"]
    path: str
    asks: type[A]
    answers: type[T]
    run: Callable[[Context, Caller, A], Awaitable[T]]


def require(caller: Caller, need: Need) -> None:
    """Refuse a caller whose scope does not permit ``need``. Raises ``Forbidden``."""
    if need not in MAY[caller.identity.scope]:
        raise Forbidden(f"a {caller.identity.scope} token may not do this ({need}).")


async def target(context: Context, caller: Caller, word: str, need: Need) -> Session:
    """Return the session that ``word`` names, if the caller may do ``need`` to it."""
    return await context.database.read(lambda db: find(context, db, caller, word, need))


def find(context: Context, db: Connection, caller: Caller, word: str, need: Need) -> Session:
    """Return the session that ``word`` names within the caller's reach. Raises ``Forbidden``.

    The refusal is the same whether or not such a session exists elsewhere, so that a caller
    cannot detect sessions that it may not see.
    """
    allowed = reach(context, db, caller, need)
    if allowed is None:
        return _speakable(context, caller, sessions.resolve(db, word), need)
    with suppress(SessionUnknown):
        return _speakable(context, caller, sessions.resolve(db, word, among=allowed), need)
    shown = word[:SHOWN_NAME_CHARACTERS]
    raise Forbidden(f"{shown} is not of the caller's family ({need}), or there is none.")


def _speakable(context: Context, caller: Caller, session: Session, need: Need) -> Session:
    """Refuse agents that send text to a plain program, which runs it. Raises ``Forbidden``."""
    is_plain = session.agent in context.agents and context.agents[session.agent].screen is None
    if need is Need.SPEAK and is_plain and caller.identity.scope is Scope.SESSION:
        raise Forbidden(f"{session.name} runs whatever it is told; only a person speaks to it.")
    return session


def reach(
    context: Context, db: Connection, caller: Caller, need: Need
) -> set[SessionId] | None:
    """Return the sessions to which the caller may do ``need``; ``None`` means all."""
    own = caller.identity.session
    if own is None:
        return None
    if need is Need.END:
        return families.descendants(db, own)
    family = family_of(db, context, caller)
    return None if family is None else family | relays.peers(db, own)


def family_of(db: Connection, context: Context, caller: Caller) -> set[SessionId] | None:
    """Return the caller's family, itself included; ``None`` if it may reach every session."""
    own = caller.identity.session
    if own is None or context.settings.trust.sessions == "all":
        return None
    return families.family(db, own)


async def require_own(context: Context, caller: Caller, word: str) -> Session:
    """Return the session that a request is made for: the caller's; the owner may name any."""
    own = caller.identity.session
    if own is None and not word:
        raise BadInput("say which session is meant; you are none yourself.", missing="caller")
    among = None if own is None else {own}
    with suppress(SessionUnknown) if own is not None else nullcontext():
        return await context.database.read(
            lambda db: sessions.resolve(db, word or str(own), among=among)
        )
    raise Forbidden(
        f"a session speaks for itself only, not for {word[:SHOWN_NAME_CHARACTERS]}."
    )


async def until(
    context: Context,
    caller: Caller,
    question: Callable[[Connection], bool],
    seconds: float,
    *,
    sessions: Collection[SessionId] = (),
) -> bool:
    """Wait until ``question`` is true of the store. Return false on timeout.

    With ``sessions``, ``question`` is evaluated again only at entries about them.

    Raises ``TokenRevoked`` as soon as the caller's token is revoked, ``Forbidden`` once it may
    no longer read ``sessions``, and ``NotRunning`` if the daemon stops first: the caller then
    asks the next daemon.
    """

    def is_over(db: Connection) -> bool:
        return not has_access(context, db, caller, sessions) or question(db)

    def has_still_access(db: Connection) -> bool:
        return has_access(context, db, caller, sessions)

    clock = context.journal.clock
    own = caller.identity.session  # its end revokes its badge
    heard = {*sessions, own} if sessions and own else sessions
    asking = waiting.until(
        context.database, is_over, seconds=seconds, clock=clock, sessions=heard
    )
    with context.streams.opened(caller.identity.token) as over:

        async def stopped() -> None:
            await over.wait()

        answer = await first_of(asking, stopped())
        await require_valid(context, caller)
        if own and not await context.database.read(has_still_access):
            raise Forbidden("the session is not of the caller's family any more.")
        if answer is None:
            raise NotRunning
        return answer


def is_valid(db: Connection, caller: Caller) -> bool:
    """Return whether the caller's token, if it has one, is valid now."""
    token = caller.identity.token
    return token is None or tokens.find(db, token) is not None


def has_access(
    context: Context, db: Connection, caller: Caller, targets: Collection[SessionId]
) -> bool:
    """Return whether the caller's token is valid and it may read all of ``targets``."""
    if not is_valid(db, caller):
        return False
    allowed = reach(context, db, caller, Need.READ) if targets else None
    return allowed is None or allowed.issuperset(targets)


async def require_valid(context: Context, caller: Caller) -> None:
    """Refuse a caller whose token was revoked meanwhile. Raises ``TokenRevoked``."""
    if caller.identity.token and not await context.database.read(
        lambda db: is_valid(db, caller)
    ):
        raise TokenRevoked


async def once(
    context: Context, caller: Caller, answers: type[T], do: Callable[[Connection], T]
) -> T:
    """Write in one transaction. A repeat under the same key returns the first answer."""
    shape = shape_of(answers)  # type: ignore[arg-type]  # a type is hashable

    def write(db: Connection) -> str:
        at = context.journal.clock.now()
        return commands.once(db, caller.key, lambda db: shape.dump_json(do(db)).decode(), at)

    answer: T = shape.validate_json(await context.database.write(write))
    return answer


async def begin_acting(
    context: Context, caller: Caller, do: Callable[[Connection], None]
) -> datetime | None:
    """Write what precedes an action outside the database, and that its key has begun.

    Return when the same command was begun before, if it is not known to be done; in that
    case nothing is written.
    """

    def write(db: Connection) -> datetime | None:
        at = context.journal.clock.now()
        begun = commands.begin(db, caller.key, at) if caller.key else None
        if begun is None:
            do(db)
        return begun

    return await context.database.write(write)


async def finish_acting(
    context: Context, caller: Caller, answers: type[T], do: Callable[[Connection], T]
) -> T:
    """Write what follows an action that was begun, and store its answer under the key."""
    shape = shape_of(answers)  # type: ignore[arg-type]  # a type is hashable

    def write(db: Connection) -> T:
        done = do(db)
        if caller.key:
            commands.finish(db, caller.key, shape.dump_json(done).decode())
        return done

    return await context.database.write(write)


async def answered_before(context: Context, caller: Caller, answers: type[T]) -> T | None:
    """Return the stored answer to the same command, if it was given before."""
    if caller.key is None:
        return None
    before = await context.database.read(partial(commands.answered, key=caller.key))
    if before is None:
        return None
    answer: T = shape_of(answers).validate_json(before)  # type: ignore[arg-type]  # as above
    return answer


def misshapen(faults: Sequence[Any], *, inside: int = 0) -> BadInput:
    """Return an error that names the first fault of invalid input and its location.

    ``inside`` is how many leading parts of the location the transport has added.
    """
    first = faults[0]
    where = ".".join(str(word) for word in first["loc"][inside:])
    return BadInput(f"{where}: {first['msg']}" if where else first["msg"])


@cache
def shape_of(answers: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a type, which mypy cannot hash
    """Return the adapter that reads and writes an answer. Cached: making one takes 1 ms."""
    return TypeAdapter(answers)
