"""The endpoint for agents' tool calls. The MCP server is imported at the first request."""

from __future__ import annotations

import importlib
from dataclasses import replace

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.model.scopes import Identity
from rookery.model.scopes import Scope as Reach
from rookery.operations.context import Context

#: Takes about a second to import, which only requests for tools have to wait for.
SERVER = "rookery.api.mcp.server"


class McpEndpoint:
    """Stateless streamable HTTP: each request is independent and is answered directly."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # there is no stream to GET, no session to DELETE
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        server = await anyio.to_thread.run_sync(importlib.import_module, SERVER)
        scope["identity"] = as_caller(scope["identity"])
        await server.serve(self._context, scope, receive, send)


def as_caller(identity: Identity) -> Identity:
    """Return the identity of a tool's caller. Without a token or a session it may only read.

    On the user's own socket such a caller would be the owner; but here it is an agent, and it
    is not known on whose behalf it asks.
    """
    if identity.scope is Reach.OWNER and identity.token is None:
        return replace(identity, scope=Reach.READER)
    return identity
