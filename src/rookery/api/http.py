"""Serve the operations over HTTP: validate requests, and answer errors in one form."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Never, TypeVar

import anyio
from pydantic_core import PydanticSerializationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from rookery.api.mcp.endpoint import McpEndpoint
from rookery.api.openapi import describe_api
from rookery.api.parameters import one_method, read_key, read_parameters
from rookery.api.streams import stream_routes
from rookery.model import errors
from rookery.model.errors import RookeryError, StoreBroken, code_of
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.idempotency import ask
from rookery.operations.operation import Operation, shape_of
from rookery.store.damage import as_store_broken
from rookery.supervise import first_of

T = TypeVar("T")

#: The status that server logs usually show for a request whose client has disconnected.
CLIENT_CLOSED_REQUEST = 499

#: The HTTP status of each error. An entry also covers subclasses that have no entry.
STATUS: dict[type[RookeryError], int] = {
    errors.SessionUnknown: 404,
    errors.SessionAmbiguous: 409,
    errors.SessionOver: 409,
    errors.NameTaken: 409,
    errors.KeyReused: 409,
    errors.KeysUnsure: 409,
    errors.RequestUnknown: 404,
    errors.RequestAmbiguous: 409,
    errors.RelayUnknown: 404,
    errors.MessageUnknown: 404,
    errors.TokenUnknown: 404,
    errors.TokenRevoked: 401,
    errors.RequestClosed: 409,
    errors.LimitReached: 429,
    errors.RateExceeded: 429,
    errors.BacklogFull: 429,
    errors.LandingConflict: 409,
    errors.Forbidden: 403,
    errors.CommandRefused: 400,
    errors.GitFailed: 409,
    errors.StillWorking: 504,
    errors.Occupied: 409,
    errors.StoreLost: 503,
    errors.CommitFailed: 503,
    errors.NotRunning: 503,
    errors.RuntimeFailed: 503,
    RookeryError: 500,
}


def build_app(context: Context) -> Starlette:
    """Build the application: every operation, the event streams, and MCP."""
    routes = [
        one_method(operation.path, _endpoint(operation, context), operation.method)
        for operation in OPERATIONS
    ]
    described = one_method("/v1/openapi.json", _describe)
    app = Starlette(routes=[*routes, *stream_routes(context), described])
    app.router.routes.append(Route("/mcp", McpEndpoint(context)))
    app.add_exception_handler(RookeryError, _refuse)
    app.add_exception_handler(HTTPException, _refuse_request)
    app.add_exception_handler(sqlite3.Error, _refuse_store_error)
    app.add_exception_handler(ClientDisconnect, _drop_disconnected)
    app.add_exception_handler(Exception, _report_failure)
    # Unpaired surrogates, and numbers out of range.
    for each in (PydanticSerializationError, UnicodeError, OverflowError):
        app.add_exception_handler(each, _refuse_unencodable)
    return app


def _endpoint(
    operation: Operation[Any, Any], context: Context
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        key = read_key(request) if operation.method == "POST" else ""
        params = await read_parameters(operation, request)
        identity = request.scope["identity"]
        asking = ask(context, operation, params, identity=identity, key=key)
        if operation.method == "GET" and getattr(params, "timeout", None):
            answer = await _while_connected(request, asking)
        else:
            answer = await asking
        shape = shape_of(operation.answers)
        return Response(shape.dump_json(answer), media_type="application/json")

    return endpoint


async def _while_connected(request: Request, asking: Coroutine[Any, Any, T]) -> T:
    """Wait for an answer until the client disconnects. Raises ``ClientDisconnect``.

    Otherwise a long poll would continue, for up to a day, for a client that has left.
    """
    return await first_of(asking, _disconnected(request))


async def _disconnected(request: Request) -> Never:
    """Wait until the client disconnects, then raise ``ClientDisconnect``."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect


async def _describe(request: Request) -> Response:
    return JSONResponse(await anyio.to_thread.run_sync(describe_api))


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RookeryError)  # noqa: S101 - registered for nothing else
    kind = type(error)
    status = next(STATUS[each] for each in kind.__mro__ if each in STATUS)
    return _error(status, code_of(kind), str(error), details=error.details)


async def _refuse_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    if error.status_code == HTTPStatus.NOT_FOUND:
        nothing = f"There is nothing at {request.url.path[:200]}"
        return _error(error.status_code, "not-found", nothing)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(sorted(_methods_of(request)))
        refused = f"{request.method} is not allowed here; allowed: {allowed}"
        headers = {"Allow": allowed}
        return _error(error.status_code, "bad-input", refused, headers=headers)
    return _error(error.status_code, "bad-input", str(error.detail))


def _methods_of(request: Request) -> set[str]:
    """Return every method that the request's path supports."""
    routes = (each for each in request.app.router.routes if isinstance(each, Route))
    matching = (each for each in routes if each.matches(request.scope)[0] is not Match.NONE)
    return {method for each in matching for method in each.methods or ()}


async def _refuse_store_error(request: Request, error: Exception) -> Response:
    return _error(503, code_of(StoreBroken), str(as_store_broken(error)))


async def _drop_disconnected(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)  # the client cannot read it


async def _report_failure(request: Request, error: Exception) -> Response:
    """Answer an internal error in the usual form. The log has the details."""
    return _error(
        500, "failed", f"Rookery failed at this ({error!r}). See:  rookery daemon logs"
    )


async def _refuse_unencodable(request: Request, error: Exception) -> Response:
    """Answer a request with a number out of range, or with text that UTF-8 cannot encode."""
    is_number = isinstance(error, OverflowError)
    why = error if is_number else "the text is not valid Unicode: it has half of a character."
    return _error(400, "bad-input", f"Invalid input: {why}"[:300])


def _error(
    status: int,
    code: str,
    message: str,
    *,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, str] | None = None,
) -> JSONResponse:
    error: dict[str, object] = {"code": code, "message": message}
    if details:
        error["details"] = dict(details)
    return JSONResponse({"error": error}, status, headers)
