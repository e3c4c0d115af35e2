"""Describe in OpenAPI how requests are refused, and which methods a path has."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.routing import Match, Route


class ErrorDetail(BaseModel):
    code: str
    message: str


class ErrorAnswer(BaseModel):
    """What every refused request is answered with."""

    error: ErrorDetail


#: The status codes of refusals. Any operation may be answered with any of them.
_MEANINGS = {
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

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": meaning}
    for status, meaning in _MEANINGS.items()
}


def describe(app: FastAPI) -> None:
    """Leave out what FastAPI adds by itself: a status that is never used, and its shapes."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        described = generate()
        for path in described["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            described["components"]["schemas"].pop(unused, None)
        return described

    app.openapi = openapi  # type: ignore[method-assign]


def methods_of(request: Request) -> set[str]:
    """Return every method that the request's path has."""
    routes = (each for each in request.app.router.routes if isinstance(each, Route))
    matching = (each for each in routes if each.matches(request.scope)[0] is not Match.NONE)
    return {method for each in matching for method in each.methods or ()}
