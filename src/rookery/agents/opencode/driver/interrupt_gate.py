"""Delay an abort of OpenCode until it ends the turn and nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import httpx2

from rookery.drivers.driver import DriverError
from rookery.drivers.json_fields import Fields, fields_of

#: Seconds for OpenCode to connect to its MCP servers before an interrupt is refused.
CONNECT_TIMEOUT_S = 10.0

#: Seconds to wait until an accepted prompt runs; after that, it is aborted anyway.
RUN_TIMEOUT_S = 2.0


class InterruptGate:
    """Delays an abort until its only effect is the end of the turn.

    As of 1.18.33, OpenCode connects to its MCP servers once: in its first turn, or earlier if
    it is asked for their state. If an abort cuts that off, each later turn ends at once as
    aborted. An abort before the turn runs has no effect.
    """

    def __init__(self) -> None:
        self._connecting: asyncio.Task[None] | None = None
        self._runs = asyncio.Event()

    def connect(self, client: httpx2.AsyncClient) -> None:
        """Let OpenCode connect to its MCP servers now."""
        self._connecting = asyncio.create_task(_connect(client))

    def close(self) -> None:
        if self._connecting:
            self._connecting.cancel()

    def note_status(self, properties: Fields) -> None:
        """Note whether a turn runs, as OpenCode reports it."""
        if fields_of(properties.get("status")).get("type") == "idle":
            self._runs.clear()
        else:
            self._runs.set()

    async def until_open(self, *, awaits_turn: bool) -> None:
        """Wait until OpenCode has connected to its MCP servers. Raises ``DriverError``.

        With ``awaits_turn``, also wait until a prompt runs.
        """
        if self._connecting:
            # Not cancelled at the timeout: that would cut the connecting off, too.
            _, pending = await asyncio.wait((self._connecting,), timeout=CONNECT_TIMEOUT_S)
            if pending:
                raise DriverError(
                    "OpenCode still connects to its MCP servers, and cannot be interrupted"
                    " meanwhile. Try again later."
                )
        if awaits_turn:
            with suppress(TimeoutError):
                async with asyncio.timeout(RUN_TIMEOUT_S):
                    await self._runs.wait()


async def _connect(client: httpx2.AsyncClient) -> None:
    with suppress(httpx2.HTTPError):  # the end of the server is noticed elsewhere
        await client.get("/mcp", timeout=None)
