"""Read the parameters of an HTTP request from its path, its query and its JSON body."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError, create_model
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from rookery.api.strict_json import load
from rookery.model.errors import BadInput
from rookery.operations.operation import Operation, Params, misshapen

M = TypeVar("M", bound=BaseModel)

KEY_HEADER = "idempotency-key"
MAX_KEY_CHARS = 200


def one_method(
    path: str, endpoint: Callable[[Request], Awaitable[Response]], method: str = "GET"
) -> Route:
    """Return a route for one method. Starlette would add HEAD to every GET."""
    route = Route(path, endpoint, methods=[method])
    route.methods = {method}
    return route


async def read_parameters(operation: Operation[Any, Any], request: Request) -> Params:
    """Return the parameters of a request for an operation. Raises ``BadInput``."""
    shape = outside_the_path(operation)
    if not shape.model_fields:
        rest: dict[str, Any] = {}
    elif operation.method == "POST":
        rest = (await _read_body(shape, request)).model_dump()
    else:
        rest = read_query(shape, request).model_dump()
    params: Params = _checked(operation.asks, {**request.path_params, **rest})
    return params


def read_query(shape: type[M], connection: HTTPConnection) -> M:
    """Return the parameters in the query. Raises ``BadInput``."""
    query = connection.query_params
    values = {
        name: query.getlist(name) if _is_list(shape, name) else query[name] for name in query
    }
    return _checked(shape, values)


def read_key(request: Request) -> str:
    """Return the request's idempotency key, or an empty string. Raises ``BadInput``."""
    key = request.headers.get(KEY_HEADER, "")
    if len(key) > MAX_KEY_CHARS:
        raise BadInput(f"{KEY_HEADER}: it has more than {MAX_KEY_CHARS} characters.")
    return key


def in_path(operation: Operation[Any, Any]) -> list[str]:
    """Return the names of the parameters in an operation's path."""
    return re.findall(r"{(\w+)}", operation.path)


@cache
def outside_the_path(operation: Operation[Any, Any]) -> type[Params]:
    """Return the model of an operation's query or body. Built at the first request."""
    names = in_path(operation)
    if not names:
        shape: type[Params] = operation.asks
        return shape
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in operation.asks.model_fields.items()
        if name not in names
    }
    return create_model(f"{operation.asks.__name__}Body", __base__=Params, **fields)


async def _read_body(shape: type[M], request: Request) -> M:
    body = await request.body() or b"{}"
    try:
        # Strict: the JSON string "1" is not a number, and neither is true.
        params = shape.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise misshapen(error.errors(include_url=False)) from None
    await load(body)  # pydantic accepts repeated keys and infinite numbers
    return params


def _checked(shape: type[M], values: dict[str, Any]) -> M:
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise misshapen(error.errors(include_url=False)) from None


def _is_list(shape: type[BaseModel], name: str) -> bool:
    field = shape.model_fields.get(name)
    return field is not None and get_origin(field.annotation) in (list, tuple)
