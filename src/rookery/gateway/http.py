"""The operations over HTTP: their shapes are checked, their errors have one form."""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Body, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Strict, TypeAdapter, create_model
from pydantic_core import PydanticSerializationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from rookery import __version__
from rookery.gateway.asking import ask
from rookery.gateway.described import ERRORS, describe, methods_of
from rookery.gateway.mcp.door import McpDoor
from rookery.gateway.operations import OPERATIONS
from rookery.gateway.streams import add_streams
from rookery.gateway.table import Asked, House, Operation, misshapen
from rookery.model import errors
from rookery.model.errors import RookeryError, StoreBroken

#: What each error means to a client. A kind stands for all below it.
STATUS: dict[type[RookeryError], int] = {
    errors.SessionUnknown: 404,
    errors.SessionAmbiguous: 409,
    errors.SessionOver: 409,
    errors.NameTaken: 409,
    errors.KeyReused: 409,
    errors.RequestUnknown: 404,
    errors.RelayUnknown: 404,
    errors.MessageUnknown: 404,
    errors.TokenUnknown: 404,
    errors.TokenRevoked: 401,
    errors.RequestClosed: 409,
    errors.LimitReached: 429,
    errors.RateExceeded: 429,
    errors.BacklogFull: 429,
    errors.Forbidden: 403,
    errors.CommandRefused: 400,
    errors.StillWorking: 504,
    errors.Occupied: 409,
    errors.StoreLost: 503,
    errors.CommitFailed: 503,
    errors.NotRunning: 503,
    errors.RuntimeFailed: 503,
    RookeryError: 500,
}


def code_of(error: type[RookeryError]) -> str:
    """Name an error for programs: ``SessionUnknown`` is ``session-unknown``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()


def build_app(house: House) -> FastAPI:
    """Make what is behind the doors: every operation, the events, MCP."""
    app = FastAPI(title="Rookery", version=__version__, docs_url=None, redoc_url=None)
    app.openapi_url = "/v1/openapi.json"
    app.setup()
    for operation in OPERATIONS:
        app.add_api_route(
            operation.path,
            _endpoint(operation, house),
            methods=[operation.method],
            operation_id=operation.name,
            summary=inspect.getdoc(operation.run),
            response_model=operation.answers,
            responses=ERRORS,
        )
    add_streams(app, house)
    app.router.routes.append(Route("/mcp", McpDoor(house), include_in_schema=False))
    describe(app)
    app.add_exception_handler(RookeryError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_shape)
    app.add_exception_handler(HTTPException, _refuse_request)
    app.add_exception_handler(sqlite3.Error, _refuse_unread)
    app.add_exception_handler(Exception, _apologise)
    # Halves of characters, and numbers beyond all measure.
    for strange in (PydanticSerializationError, UnicodeError, OverflowError):
        app.add_exception_handler(strange, _refuse_strange)
    return app


def _endpoint(
    operation: Operation[Any, Any], house: House
) -> Callable[..., Awaitable[Response]]:
    shape = TypeAdapter(operation.answers)
    in_path = re.findall(r"{(\w+)}", operation.path)
    rest = _without(operation.asks, in_path, is_json=operation.method == "POST")

    async def endpoint(request: Request, **given: Any) -> Response:  # noqa: ANN401 - see below
        key, more = given.pop("idempotency_key", None), given.pop("rest", None)
        asked = operation.asks(**given, **(more.model_dump() if more else {}))
        identity = request.scope["identity"]
        answer = await ask(house, operation, asked, identity=identity, key=key or "")
        return Response(shape.dump_json(answer), media_type="application/json")

    # FastAPI reads a signature; ours is made of the table.
    where = Body() if operation.method == "POST" else Query()
    parameters = [_parameter("request", Request)]
    parameters += [
        _parameter(name, Annotated[field.annotation, *field.metadata, Path()])
        for name, field in operation.asks.model_fields.items()
        if name in in_path
    ]
    if rest.model_fields:
        parameters.append(_parameter("rest", Annotated[rest, where]))
    if operation.method == "POST":
        key = Annotated[str | None, Header(max_length=200)]
        parameters.append(_parameter("idempotency_key", key, default=None))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = operation.name
    return endpoint


def _parameter(
    name: str, annotation: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def _without(asks: type[Asked], names: list[str], *, is_json: bool) -> type[Asked]:
    """Make the shape of what does not stand in the path."""
    fields: dict[str, Any] = {
        name: (_exact(field.annotation) if is_json else field.annotation, field)
        for name, field in asks.model_fields.items()
        if name not in names
    }
    return create_model(
        asks.__name__ if not names else f"{asks.__name__}Body", __base__=Asked, **fields
    )


def _exact(annotation: Any) -> Any:  # noqa: ANN401 - a type
    """Take no text and no truth value for a number; JSON says which is which."""
    is_scalar = annotation in (int, float, bool, int | None, float | None, bool | None)
    return Annotated[annotation, Strict()] if is_scalar else annotation


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RookeryError)  # noqa: S101 - registered for nothing else
    kind = type(error)
    status = next(STATUS[each] for each in kind.__mro__ if each in STATUS)
    return _error(status, code_of(kind), str(error))


async def _refuse_shape(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    return await _refuse(request, misshapen(error.errors(), inside=1))


async def _refuse_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    if error.status_code == HTTPStatus.NOT_FOUND:
        nothing = f"There is nothing at {request.url.path[:200]}"
        return _error(error.status_code, "not-found", nothing)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(sorted(methods_of(request)))
        refused = f"{request.method} is not allowed here; allowed: {allowed}"
        return _error(error.status_code, "bad-input", refused, {"Allow": allowed})
    return _error(error.status_code, "bad-input", str(error.detail))


async def _refuse_unread(request: Request, error: Exception) -> Response:
    return _error(503, code_of(StoreBroken), str(StoreBroken(error)))


async def _apologise(request: Request, error: Exception) -> Response:
    """Answer in the usual form, also when it is our fault. The log has the rest."""
    return _error(500, "failed", f"Rookery failed at this ({error!r}). See:  rookery logs")


async def _refuse_strange(request: Request, error: Exception) -> Response:
    is_half = "surrogate" in str(error)
    why = "the text is not valid Unicode: it has half of a character." if is_half else error
    return _error(400, "bad-input", f"This cannot be taken as it is: {why}"[:300])


def _error(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
