"""Check every request before the application sees it: its sender, its origin and its size."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.api.callers import Callers
from rookery.model.errors import Forbidden, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity
from rookery.operations.context import Context
from rookery.store import tokens
from rookery.store.damage import as_store_broken

#: Bytes of one request: the longest message in JSON's longest encoding.
MAX_REQUEST_BYTES = 8 * 1024 * 1024

TOO_MUCH = f"At most {MAX_REQUEST_BYTES:,} bytes at a time."

#: Headers that decide about a request. If one came twice, two readers could differ on it.
DECIDING = frozenset({"host", "origin", "authorization", "content-type"})

#: The only path that needs no token: it shows only that the daemon runs.
OPEN = "/healthz"


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    status: int
    code: str
    message: str


class Guard:
    """Passes a request on with its sender's identity, or refuses it."""

    def __init__(
        self,
        app: ASGIApp,
        context: Context,
        *,
        transport: Literal["unix", "tcp"],
        names: Collection[str] = (),
    ) -> None:
        self._app = app
        self._context = context
        self._transport = transport
        self._hosts = frozenset(names)
        self._callers = Callers(
            context.database,
            context.holder_of,
            context.journal.clock,
            context.home.tmux,
            context.home.driver_socket,
        )
        self._origins = frozenset(f"http://{name}" for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return
        try:
            headers = _headers(scope)
            self._check_target(scope)
            self._check_origin(headers)
            _check_body(scope, headers)
            if scope["path"] == OPEN and scope["type"] == "http":
                await JSONResponse({"ok": True})(scope, receive, send)
                return
            scope["identity"] = await self._identify(scope, headers)
        except Refusal as refusal:
            await _send_refusal(refusal, scope, receive, send)
            return
        except sqlite3.Error as error:
            broken = Refusal(503, "store-broken", str(as_store_broken(error)))
            await _send_refusal(broken, scope, receive, send)
            return
        await self._app(scope, _counted(receive), send)

    def _check_target(self, scope: Scope) -> None:
        """Refuse a request line that names another server."""
        target = scope.get("target", "/")
        if not target.startswith("/") and not self._is_own(target):
            raise Refusal(421, "forbidden", "The request's target is not this server.")

    def _is_own(self, target: str) -> bool:
        return any(target == each or target.startswith(f"{each}/") for each in self._origins)

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse requests that a page of another site sends through the user's browser."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts and host not in self._hosts:
            raise Refusal(421, "forbidden", f"This server is not {host}.")
        if origin is not None and origin not in self._origins:
            raise Refusal(403, "forbidden", f"{origin} may not send requests here.")

    async def _identify(self, scope: Scope, headers: Mapping[str, str]) -> Identity:
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and (secret := shown.strip()):
            return await self._by_token(secret)
        if self._transport == "tcp" or scope["type"] == "websocket" or kind:
            raise Refusal(
                401, "unauthorized", "A token is required. Make one with:  rookery token mint"
            )
        _, pid = scope["client"]
        try:
            return await self._callers.identify(pid)
        except RuntimeFailed:
            raise Refusal(401, "unauthorized", "The calling process has exited.") from None
        except Forbidden as error:
            raise Refusal(403, "forbidden", str(error)) from None

    async def _by_token(self, secret: str) -> Identity:
        digest = tokens.digest(secret)
        token = await self._context.database.read(partial(tokens.find, token_digest=digest))
        if token is None:
            raise Refusal(401, "unauthorized", "This token is not valid.")
        session = SessionId(token.session) if token.session else None
        return Identity(token.scope, self._transport, session, digest)


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name. Raises ``Refusal`` if a deciding one is given twice."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        header = name.decode("latin-1")
        if header in headers and header in DECIDING:
            raise Refusal(400, "bad-input", f"The header {header} must not be given twice.")
        headers[header] = value.decode("latin-1")
    return headers


def _check_body(scope: Scope, headers: Mapping[str, str]) -> None:
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_REQUEST_BYTES:
        raise Refusal(413, "bad-input", TOO_MUCH)
    has_body = length != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["type"] == "http" and has_body and kind != "application/json":
        # A page of another site can send text or a form without a preflight, but not JSON.
        raise Refusal(415, "bad-input", "Send it as application/json.")


async def _send_refusal(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.message})
        return
    error = {"code": refusal.code, "message": refusal.message}
    await JSONResponse({"error": error}, refusal.status)(scope, receive, send)


def _counted(receive: Receive) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_REQUEST_BYTES:  # the request did not announce its size
            raise HTTPException(413, TOO_MUCH)
        return message

    return counted
