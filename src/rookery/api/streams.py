"""Serve events and screens as server-sent events, and events on a WebSocket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rookery.api.events import RecentEvents, StreamEvent, follow, recall
from rookery.api.parameters import one_method, read_query
from rookery.model.errors import BadInput
from rookery.model.facts import Fact, RelayLeft, SessionEnded, SessionId
from rookery.model.scopes import Need
from rookery.operations.access import has_access, require, target
from rookery.operations.context import Caller, Context

T = TypeVar("T")

#: Seconds for a client to accept what is sent; then it is dropped, and may resume.
SEND_TIMEOUT_SECONDS = 10.0

_NUMBER = re.compile(r"[0-9]{1,18}")

#: A WebSocket close frame has room for 123 bytes of reason.
MAX_CLOSE_REASON_CHARS = 30

#: Seconds between keep-alive pings.
PING_INTERVAL_SECONDS = 15

#: Facts after which a session may read less: its badge is revoked, or it is out of a relay.
ACCESS_CHANGES: tuple[type[Fact], ...] = (SessionEnded, RelayLeft)


class EventsParams(BaseModel):
    after: int | None = Field(default=None, ge=0, description="the entry to go on after")
    until_now: bool = Field(default=False, description="tell what is kept, and end")


class FramesParams(BaseModel):
    session: str = Field(description="id, name, native id, or the beginning of one")


Open = Callable[[Context, RecentEvents, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Stream:
    """A path that answers with server-sent events."""

    name: str
    path: str
    asks: type[BaseModel]
    open: Open


def stream_routes(context: Context) -> list[BaseRoute]:
    """Return the routes of the streams: server-sent events, and a WebSocket for the events."""
    ring = RecentEvents(context.database)

    async def events_by_socket(socket: WebSocket) -> None:
        await _follow_by_socket(context, ring, socket)

    streams = [one_method(each.path, _endpoint(each, context, ring)) for each in STREAMS]
    return [*streams, WebSocketRoute("/v1/events", events_by_socket)]


def _endpoint(
    stream: Stream, context: Context, ring: RecentEvents
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await stream.open(context, ring, request)

    return endpoint


async def follow_events(context: Context, ring: RecentEvents, request: Request) -> Response:
    """Follow what happens: a snapshot, then every fact. Resumes after Last-Event-ID.

    With ``until_now`` it tells what is kept of the past, and ends.
    """
    caller = _caller(request)
    params = read_query(EventsParams, request)
    after = _resumed(request, params.after)
    if params.until_now:
        return _streamed(context, caller, recall(context, caller, after or 0), bytes)
    return _streamed(context, caller, follow(context, ring, caller, after), _encoded)


async def follow_screen(context: Context, ring: RecentEvents, request: Request) -> Response:
    """Follow a session's screen: the present one, then each as it changes."""
    caller = _caller(request)
    session = await target(context, caller, request.path_params["session"], Need.READ)
    return _streamed(
        context, caller, context.runtime.terminal(session.id).screens(), _frame, of=session.id
    )


STREAMS = (
    Stream("events", "/v1/events", EventsParams, follow_events),
    Stream("frames", "/v1/sessions/{session}/frames", FramesParams, follow_screen),
)


async def _follow_by_socket(context: Context, ring: RecentEvents, socket: WebSocket) -> None:
    caller = _caller(socket)
    try:
        after = _resumed(socket, read_query(EventsParams, socket).after)
    except BadInput as refused:
        await socket.close(1008, str(refused)[:MAX_CLOSE_REASON_CHARS])
        return
    await socket.accept()
    events = _while_allowed(context, caller, follow(context, ring, caller, after))
    with suppress(WebSocketDisconnect, TimeoutError, RuntimeError):
        async for event in events:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await socket.send_text(event.text)
        await socket.close(1008)


def _resumed(connection: HTTPConnection, after: int | None) -> int | None:
    """Return the entry to resume after: from the Last-Event-ID header, else the query."""
    last_event_id = connection.headers.get("last-event-id", "")
    if _NUMBER.fullmatch(last_event_id):
        return int(last_event_id)
    return after


def _caller(connection: HTTPConnection) -> Caller:
    caller = Caller(connection.scope["identity"])
    require(caller, Need.READ)
    return caller


def _streamed(
    context: Context,
    caller: Caller,
    source: AsyncIterator[T],
    encode: Callable[[T], bytes],
    *,
    of: SessionId | None = None,
) -> Response:
    async def encoded() -> AsyncIterator[bytes]:
        async for each in _while_allowed(context, caller, source, of=of):
            yield encode(each)

    return EventSourceResponse(
        encoded(), ping=PING_INTERVAL_SECONDS, send_timeout=SEND_TIMEOUT_SECONDS
    )


async def _while_allowed(
    context: Context,
    caller: Caller,
    source: AsyncIterator[T],
    *,
    of: SessionId | None = None,
) -> AsyncIterator[T]:
    """Yield the items of ``source`` until it ends or the caller may no longer read it.

    ``of`` is the session that all items are about; without it, ``source`` itself yields only
    what is within the caller's reach.
    """
    access = _Access(context, caller, () if of is None else (of,))
    with context.streams.opened(caller.identity.token) as over:
        watching = asyncio.ensure_future(access.watch(over))
        stopped = asyncio.ensure_future(over.wait())
        following: asyncio.Future[T] | None = None
        try:
            while True:
                following = asyncio.ensure_future(anext(source))
                await asyncio.wait({following, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if stopped.done():
                    return
                try:
                    result = following.result()
                except StopAsyncIteration:
                    return
                if of is not None and not await access.holds():
                    return
                yield result
        finally:
            watching.cancel()
            stopped.cancel()
            if following:
                following.cancel()


@dataclass(frozen=True, slots=True)
class _Access:
    """Checks whether a caller may still read some sessions."""

    context: Context
    caller: Caller
    targets: tuple[SessionId, ...]

    async def holds(self) -> bool:
        if self.caller.identity.session is None:
            return True  # revoking a token already closes its streams
        return await self.context.database.read(
            lambda db: has_access(self.context, db, self.caller, self.targets)
        )

    async def watch(self, over: asyncio.Event) -> None:
        """Set ``over`` once access is lost. Checked again at facts that may change it."""
        try:
            while True:
                # Taken before the check, so that no fact between it and the wait is missed.
                bell = self.context.database.bells.of_kinds(ACCESS_CHANGES)
                if not await self.holds():
                    return
                await bell.wait()
        finally:
            over.set()  # also on a read error: a stream must not continue unchecked


def _encoded(event: StreamEvent) -> bytes:
    return event.frame


def _frame(lines: tuple[str, ...]) -> bytes:
    # Without an id: a client that reconnects wants the current screen, not an old one.
    return ServerSentEvent(json.dumps({"lines": lines}), event="screen").encode()
