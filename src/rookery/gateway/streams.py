"""The events over HTTP: server-sent events and a WebSocket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, TypeAlias, TypeVar

from fastapi import FastAPI, Header, Query, Request, Response, WebSocket
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Scope
from starlette.websockets import WebSocketDisconnect

from rookery.gateway.described import ERRORS
from rookery.gateway.events import Event, Ring, follow, recall
from rookery.gateway.table import Caller, House, require, target
from rookery.model.scopes import Need

T = TypeVar("T")

#: FastAPI reads from it what can be asked.
Endpoint: TypeAlias = Callable[..., Awaitable[Response]]

#: Seconds for one who follows to take what is sent; then they are dropped, and may resume.
PATIENCE = 10.0

_NUMBER = re.compile(r"[0-9]{1,18}")

#: Seconds between signs of life.
PING = 15


def add_streams(app: FastAPI, house: House) -> None:
    ring = Ring(house.database)
    screens, by_socket = _frames(house), _events_by_socket(house, ring)
    for path, stream, name in (
        ("/v1/events", _events(house, ring), "events"),
        ("/v1/sessions/{session}/frames", screens, "frames"),
    ):
        app.add_api_route(
            path,
            stream,
            operation_id=name,
            responses=ERRORS,
            response_class=EventSourceResponse,
        )
    app.add_api_websocket_route("/v1/events", by_socket)


def _events(house: House, ring: Ring) -> Endpoint:
    async def events(
        request: Request,
        *,
        after: Annotated[int | None, Query(ge=0)] = None,
        until_now: bool = False,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """Follow what happens: a snapshot, then every fact. Resumes after Last-Event-ID.

        With ``until_now`` it tells what is kept of the past, and ends.
        """
        caller = _caller(request.scope)
        after = _resumed(last_event_id, after)
        if until_now:
            return _streamed(house, caller, recall(house, caller, after or 0), _encoded)
        return _streamed(house, caller, follow(house, ring, caller, after), _encoded)

    return events


def _frames(house: House) -> Endpoint:
    async def frames(request: Request, session: str) -> Response:
        """Follow a session's screen: the present one, then each as it changes."""
        caller = _caller(request.scope)
        found = await target(house, caller, session, Need.READ)
        screens = house.runtime.screens(found.id)
        return _streamed(house, caller, screens, _frame)

    return frames


def _events_by_socket(house: House, ring: Ring) -> Callable[..., Awaitable[None]]:
    async def events_by_socket(
        socket: WebSocket,
        *,
        after: Annotated[int | None, Query(ge=0)] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> None:
        caller = _caller(socket.scope)
        after = _resumed(last_event_id, after)
        await socket.accept()
        told = _until_revoked(house, caller, follow(house, ring, caller, after))
        with suppress(WebSocketDisconnect, TimeoutError, RuntimeError):
            async for event in told:
                async with asyncio.timeout(PATIENCE):
                    await socket.send_text(event.text)
            await socket.close(1008)

    return events_by_socket


def _resumed(last_event_id: str | None, after: int | None) -> int | None:
    """Return the entry to go on after: the header's, if it names one, else the query's."""
    if last_event_id and _NUMBER.fullmatch(last_event_id):
        return int(last_event_id)
    return after


def _caller(scope: Scope) -> Caller:
    caller = Caller(scope["identity"])
    require(caller, Need.READ)
    return caller


def _streamed(
    house: House, caller: Caller, source: AsyncIterator[T], encode: Callable[[T], bytes]
) -> Response:
    async def encoded() -> AsyncIterator[bytes]:
        async for each in _until_revoked(house, caller, source):
            yield encode(each)

    return EventSourceResponse(encoded(), ping=PING, send_timeout=PATIENCE)


async def _until_revoked(
    house: House, caller: Caller, source: AsyncIterator[T]
) -> AsyncIterator[T]:
    """Pass on what comes, until it ends or the caller's token is taken back."""
    with house.streams.opened(caller.identity.token) as over:
        revoked = asyncio.ensure_future(over.wait())
        following: asyncio.Future[T] | None = None
        try:
            while True:
                following = asyncio.ensure_future(anext(source))
                await asyncio.wait({following, revoked}, return_when=asyncio.FIRST_COMPLETED)
                if revoked.done():
                    return
                try:
                    yield following.result()
                except StopAsyncIteration:
                    return
        finally:
            revoked.cancel()
            if following:
                following.cancel()


def _encoded(event: Event) -> bytes:
    return event.frame


def _frame(lines: tuple[str, ...]) -> bytes:
    # Without an id: who comes back wants the present screen, not an old one.
    return ServerSentEvent(json.dumps({"lines": lines}), event="screen").encode()
