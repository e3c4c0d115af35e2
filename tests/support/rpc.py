"""JSON-RPC on a store of a test: requests as they come from the guard, and their answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from rookery.api.http import build_app
from rookery.model.scopes import Identity
from tests.support.operations import PERSON, Desk

#: Seconds after which an answer that should come at once is missing.
PATIENCE_S = 30.0


class RpcClient:
    """Sends bodies to ``/rpc``, as a caller that the guard has identified."""

    def __init__(self, desk: Desk, identity: Identity = PERSON) -> None:
        self._app: ASGIApp = build_app(desk.context)
        self._identity = identity
        self.has_left = asyncio.Event()  #: set when the client disconnects

    async def post(self, body: bytes, **headers: str) -> tuple[int, Any]:
        """Send a body as it is; return the status and the JSON of the answer."""
        sent: list[Message] = []
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if parts:
                return parts.pop()
            await self.has_left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        async with asyncio.timeout(PATIENCE_S):
            await self._app(self._scope(headers), receive, send)
        answer = b"".join(each.get("body", b"") for each in sent)
        return sent[0]["status"], json.loads(answer) if answer else None

    def _scope(self, headers: Mapping[str, str]) -> Scope:
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        return {
            "type": "http",
            "method": "POST",
            "path": "/rpc",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "identity": self._identity,
        }

    async def send(self, value: object, **headers: str) -> Any:  # noqa: ANN401 - JSON
        """Send a JSON value; return the reply, or the replies."""
        status, answer = await self.post(json.dumps(value).encode(), **headers)
        assert status in {200, 204}
        return answer

    async def call(self, method: str, /, **params: object) -> Any:  # noqa: ANN401 - JSON
        """Call a method; return its reply."""
        return await self.send(a_call(method, **params))

    async def result(self, method: str, /, **params: object) -> Any:  # noqa: ANN401 - JSON
        reply = await self.call(method, **params)
        assert "result" in reply, reply
        return reply["result"]

    async def error(self, method: str, /, **params: object) -> Any:  # noqa: ANN401 - JSON
        reply = await self.call(method, **params)
        assert "error" in reply, reply
        return reply["error"]


def a_call(method: str, /, call_id: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def a_notification(method: str, /, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params}
