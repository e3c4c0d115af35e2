"""Serve the operations over HTTP: validate requests, and answer errors in one form."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from rookery.api.disconnects import while_connected
from rookery.api.error_reports import UNENCODABLE, ErrorReport, report_on
from rookery.api.mcp.endpoint import McpEndpoint
from rookery.api.openapi import describe_api
from rookery.api.parameters import one_method, read_key, read_parameters
from rookery.api.rpc.endpoint import rpc_route
from rookery.api.streams import stream_routes
from rookery.model.errors import RookeryError
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.idempotency import ask
from rookery.operations.metrics import find_metrics_problem
from rookery.operations.operation import Operation, shape_of
from rookery.quick_python_import import import_quickly

#: The status that server logs usually show for a request whose client has disconnected.
CLIENT_CLOSED_REQUEST = 499


def build_app(context: Context) -> Starlette:
    """Build the application: every operation, the event streams, JSON-RPC and MCP."""
    routes = [
        one_method(operation.path, _endpoint(operation, context), operation.method)
        for operation in OPERATIONS
    ]
    described = one_method("/v1/openapi.json", _describe)
    streams, rpc = stream_routes(context), rpc_route(context)
    app = Starlette(routes=[*routes, *streams, rpc, described])
    if context.settings.metrics.enabled and not find_metrics_problem(context.settings):
        # Imported by name: its library is an extra, and takes time to load.
        loaded = import_quickly("rookery.api.metrics")
        app.router.routes.append(loaded.metrics_route(context))
    app.router.routes.append(Route("/mcp", McpEndpoint(context)))
    app.add_exception_handler(HTTPException, _refuse_request)
    app.add_exception_handler(ClientDisconnect, _drop_disconnected)
    for each in (RookeryError, sqlite3.Error, *UNENCODABLE, Exception):
        app.add_exception_handler(each, _refuse)
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
            answer = await while_connected(request, asking)
        else:
            answer = await asking
        shape = shape_of(operation.answers)
        return Response(shape.dump_json(answer), media_type="application/json")

    return endpoint


async def _describe(request: Request) -> Response:
    return JSONResponse(await anyio.to_thread.run_sync(describe_api))


async def _refuse(request: Request, error: Exception) -> Response:
    return _answer(report_on(error))


async def _refuse_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    if error.status_code == HTTPStatus.NOT_FOUND:
        nothing = f"There is nothing at {request.url.path[:200]}"
        return _answer(ErrorReport(error.status_code, "not-found", nothing))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(sorted(_methods_of(request)))
        refused = f"{request.method} is not allowed here; allowed: {allowed}"
        report = ErrorReport(error.status_code, "bad-input", refused)
        return _answer(report, {"Allow": allowed})
    return _answer(ErrorReport(error.status_code, "bad-input", str(error.detail)))


def _methods_of(request: Request) -> set[str]:
    """Return every method that the request's path supports."""
    routes = (each for each in request.app.router.routes if isinstance(each, Route))
    matching = (each for each in routes if each.matches(request.scope)[0] is not Match.NONE)
    return {method for each in matching for method in each.methods or ()}


async def _drop_disconnected(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)  # the client cannot read it


def _answer(report: ErrorReport, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": report.as_json()}, report.status, headers)
