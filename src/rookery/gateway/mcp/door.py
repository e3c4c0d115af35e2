"""Where agents ask for tools; what serves them is loaded when the first one does."""

from __future__ import annotations

import importlib
from dataclasses import replace

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rookery.gateway.table import House
from rookery.model.scopes import Identity
from rookery.model.scopes import Scope as Reach

#: Takes about a second to import: nobody waits for it who uses no tools.
SERVER = "rookery.gateway.mcp.server"


class McpDoor:
    """Streamable HTTP: each request stands for itself, and is answered at once."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # nothing is kept that one could follow or delete
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        server = await anyio.to_thread.run_sync(importlib.import_module, SERVER)
        scope["identity"] = as_caller(scope["identity"])
        await server.serve(self._house, scope, receive, send)


def as_caller(identity: Identity) -> Identity:
    """Say who calls a tool. Whoever shows nothing and is in no session only reads.

    On the user's own socket that would be the owner; but here it is an agent that asks, of
    which nobody knows on whose behalf.
    """
    if identity.scope is Reach.OWNER and identity.token is None:
        return replace(identity, scope=Reach.READER)
    return identity
