"""An agent's tools, through the official client: over a pipe, or over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from rookery.hook_setup import programs
from tests.support.real.rookery import SOON, Rookery

Way = Literal["stdio", "http"]


class Toolbox:
    """Calls tools, as whoever it was opened for."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    def names(self) -> set[str]:
        return {tool.name for tool in self._portal.call(self._client.list_tools).tools}

    def descriptions(self) -> dict[str, str]:
        listed = self._portal.call(self._client.list_tools).tools
        return {tool.name: tool.description or "" for tool in listed}

    def call(self, name: str, /, **arguments: object) -> dict[str, Any]:
        """Return what a tool answers; the client has checked its shape."""
        return answer_of(self._portal.call(self._client.call_tool, name, arguments))

    def begin(self, name: str, /, **arguments: object) -> Future[CallToolResult]:
        """Call a tool, and go on."""
        return self._portal.start_task_soon(self._client.call_tool, name, arguments)

    def refused(self, name: str, /, **arguments: object) -> str:
        """Return why a tool does not do it."""
        result = self._portal.call(self._client.call_tool, name, arguments)
        assert result.is_error, (name, result)
        return text_of(result)


def answer_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    found: dict[str, Any] = result.structured_content
    return found


def text_of(result: CallToolResult) -> str:
    (said,) = result.content
    assert isinstance(said, TextContent)
    return said.text


@contextmanager
def tools(
    rookery: Rookery, way: Way = "stdio", *, badge: str = "", mode: str = "auto"
) -> Iterator[Toolbox]:
    """Open the tools as the session with that badge; without, as nobody known."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_client(rookery, way, badge, mode)) as client,
    ):
        yield Toolbox(client, portal)


@asynccontextmanager
async def _client(rookery: Rookery, way: Way, secret: str, mode: str) -> AsyncIterator[Client]:
    if way == "stdio":
        command, *rest = programs.mcp_argv(rookery.home)
        environment = {"ROOKERY_BADGE": secret} if secret else {}
        bridge = StdioServerParameters(command=command, args=rest, env=environment)
        async with Client(bridge, mode=mode, read_timeout_seconds=SOON * 2) as client:
            yield client
        return
    url = rookery.client.get("status")["url"] + "/mcp"
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SOON) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client
