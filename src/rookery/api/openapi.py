"""Describe the HTTP API as OpenAPI, from the table of operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from rookery import __version__
from rookery.api.parameters import KEY_HEADER, MAX_KEY_CHARS, in_path, outside_the_path
from rookery.api.rpc.shapes import PATH as RPC_PATH
from rookery.api.rpc.shapes import RpcAnswer, RpcBody
from rookery.api.streams import STREAMS, Stream
from rookery.operations.catalog import OPERATIONS
from rookery.operations.operation import Operation

_REFERENCE = "#/components/schemas/{model}"


class ErrorDetail(BaseModel):
    code: str
    message: str
    details: dict[str, str] = Field(
        default_factory=dict, description="for programs, of errors that have any"
    )


class ErrorAnswer(BaseModel):
    """What every refused request is answered with."""

    error: ErrorDetail


#: The status codes of refusals. Any operation may return any of them.
_REFUSALS = {
    400: "The request does not have the right shape, or cannot be carried out as it is.",
    401: "A valid token is needed.",
    403: "The caller may not do this, or the Origin is not this door's.",
    404: "There is no such session, message, request, relay, token or path.",
    405: "The path has other methods; the Allow header lists them.",
    409: "The present state does not allow it, or the key belongs to another command.",
    413: "The request is too big.",
    415: "The body is not application/json.",
    421: "The Host is not this door's.",
    429: "A limit is reached.",
    500: "The daemon failed; its log says more.",
    503: "The daemon cannot do it now: it stops, or its disk or tmux does not work.",
    504: "It was not done within the timeout; nothing was stopped.",
}


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI document. Built at the first request, because it takes a while."""
    schemas, definitions = TypeAdapter.json_schemas(list(_shapes()), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _operation(operation, schemas)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    for stream in STREAMS:
        paths.setdefault(stream.path, {})["get"] = _stream(stream, schemas)
    paths[RPC_PATH] = {"post": _rpc(schemas)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rookery", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],  # the unix socket needs none
    }


def _shapes() -> Iterator[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]]:
    yield ErrorAnswer, "serialization", TypeAdapter(ErrorAnswer)
    yield RpcBody, "validation", TypeAdapter(RpcBody)
    yield RpcAnswer, "serialization", TypeAdapter(RpcAnswer)
    for operation in OPERATIONS:
        if operation.method == "POST":
            rest = outside_the_path(operation)
            yield rest, "validation", TypeAdapter(rest)
        yield operation.answers, "serialization", TypeAdapter(operation.answers)


def _operation(operation: Operation[Any, Any], schemas: dict[Any, Any]) -> dict[str, Any]:
    rest = outside_the_path(operation)
    parameters = _parameters(operation.asks, in_path(operation), location="path")
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": inspect.getdoc(operation.run),
        "responses": _responses(
            "application/json", schemas[operation.answers, "serialization"], schemas
        ),
    }
    if operation.method == "GET":
        parameters += _parameters(rest, list(rest.model_fields), location="query")
    else:
        parameters.append(_KEY)
        if rest.model_fields:
            body = {"application/json": {"schema": schemas[rest, "validation"]}}
            is_required = any(field.is_required() for field in rest.model_fields.values())
            described["requestBody"] = {"required": is_required, "content": body}
    return described | ({"parameters": parameters} if parameters else {})


def _stream(stream: Stream, schemas: dict[Any, Any]) -> dict[str, Any]:
    names = list(stream.asks.model_fields)
    where = "path" if "{" in stream.path else "query"
    return {
        "operationId": stream.name,
        "summary": inspect.getdoc(stream.open),
        "parameters": _parameters(stream.asks, names, location=where),
        "responses": _responses("text/event-stream", _EVENT, schemas),
    }


#: One event of a stream, as its fields are read.
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "where to go on, for Last-Event-ID"},
        "event": {"type": "string", "description": "what happened"},
        "data": {"type": "string", "description": "JSON"},
    },
}


def _rpc(schemas: dict[Any, Any]) -> dict[str, Any]:
    body = {"application/json": {"schema": schemas[RpcBody, "validation"]}}
    replies = _responses("application/json", schemas[RpcAnswer, "serialization"], schemas)
    return {
        "operationId": "rpc",
        "summary": "Call methods of JSON-RPC 2.0, one or several.",
        "requestBody": {"required": True, "content": body},
        "parameters": [_KEY],
        "responses": {**replies, "204": {"description": "There were only notifications."}},
    }


_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": MAX_KEY_CHARS},
}


def _parameters(shape: type[BaseModel], names: list[str], *, location: str) -> list[Any]:
    described = shape.model_json_schema(ref_template=_REFERENCE)
    required = described.get("required", ())
    return [
        {
            "name": name,
            "in": location,
            "required": location == "path" or name in required,
            "schema": described["properties"][name],
        }
        for name in names
    ]


def _responses(media: str, schema: Any, schemas: dict[Any, Any]) -> dict[str, Any]:  # noqa: ANN401 - JSON
    refused = {"application/json": {"schema": schemas[ErrorAnswer, "serialization"]}}
    refusals = {
        str(status): {"description": meaning, "content": refused}
        for status, meaning in _REFUSALS.items()
    }
    done = {"description": "Successful Response", "content": {media: {"schema": schema}}}
    return {"200": done, **refusals}
