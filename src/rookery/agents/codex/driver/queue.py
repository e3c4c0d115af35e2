"""The message queue of a Codex thread, as of 0.166.

The queue is a file that Codex shares between its programs. A short-lived app-server changes it;
the Codex in the terminal looks at it at the end of each turn, and every ten seconds when idle.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.agents.codex.driver.app_server import introduce
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.json_fields import Fields
from rookery.drivers.json_rpc import RequestRefused, RpcClient
from rookery.drivers.message_queue import QueueBroken, QueuePlace
from rookery.drivers.server_process import ServerProcess

#: Seconds for the app-server to start, and for each answer; it starts in 0.3 s.
QUEUE_TIMEOUT_S = 20.0

#: Entries of the queue, and items of the conversation, that are searched.
_QUEUED, _RECENT = 100, 100


class _Ignoring:
    """Ignores what the app-server sends by itself."""

    async def notified(self, method: str, params: Fields) -> None:
        pass

    def requested(self, number: int | str, method: str, params: Fields) -> None:
        pass


class CodexQueue:
    def __init__(self, launch: DriverLaunch, thread: str) -> None:
        self._launch = launch
        self._thread = thread

    async def add(self, receipt: str, text: str) -> None:
        params = {
            "threadId": self._thread,
            "input": [{"type": "text", "text": text}],
            "clientUserMessageId": receipt,
        }
        async with self._connected() as rpc:
            try:
                await _call(rpc, "thread/queue/add", params)
            except RequestRefused:
                raise
            except DriverError as error:
                raise QueueBroken(str(error)) from error

    async def find(self, receipt: str) -> QueuePlace:
        async with self._connected() as rpc:
            if await self._queued(rpc, receipt):
                return QueuePlace.WAITING
            # Afterwards: a message leaves the queue before it is in the conversation.
            is_taken = await self._is_in_conversation(rpc, receipt)
        return QueuePlace.TAKEN if is_taken else QueuePlace.ABSENT

    async def remove(self, receipt: str) -> bool:
        async with self._connected() as rpc:
            if not (entry := await self._queued(rpc, receipt)):
                return False
            params = {"threadId": self._thread, "queuedSubmissionId": entry}
            return bool((await _call(rpc, "thread/queue/delete", params)).get("deleted"))

    async def _queued(self, rpc: RpcClient, receipt: str) -> str:
        """Return the id of a message in the queue; empty if it is not there."""
        params = {"threadId": self._thread, "limit": _QUEUED}
        entries = (await _call(rpc, "thread/queue/list", params)).get("data")
        for entry in entries if isinstance(entries, list) else ():
            match entry:
                case {"id": str(number), "clientUserMessageId": str(known)}:
                    if known == receipt:
                        return number
                case _:
                    pass
        return ""

    async def _is_in_conversation(self, rpc: RpcClient, receipt: str) -> bool:
        params = {"threadId": self._thread, "limit": _RECENT, "sortDirection": "desc"}
        items = (await _call(rpc, "thread/items/list", params)).get("data")
        return any(
            isinstance(each, dict) and (each.get("item") or {}).get("clientId") == receipt
            for each in (items if isinstance(items, list) else ())
        )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[RpcClient]:
        """Start an app-server. Raises ``DriverError`` if it does not come up."""
        process = await ServerProcess.start(self._launch)
        rpc = RpcClient(process.output, process.input, _Ignoring())
        reading = asyncio.create_task(rpc.read())
        try:
            async with _answer_in_time():
                await introduce(rpc)
            yield rpc
        finally:
            reading.cancel()
            await process.close()


async def _call(rpc: RpcClient, method: str, params: Fields) -> Fields:
    """Return the result of a request. Raises ``DriverError`` if there is none in time."""
    async with _answer_in_time():
        return await rpc.call(method, params)


@asynccontextmanager
async def _answer_in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(QUEUE_TIMEOUT_S):
            yield
    except TimeoutError as error:
        raise DriverError("Codex's app-server does not answer.") from error
