"""The questions of an agent that wait for an answer, by the agent's own ids."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class OpenQuestions:
    def __init__(self) -> None:
        self._asking: dict[str, asyncio.Task[None]] = {}

    def begin(self, request: str, asking: Coroutine[None, None, None]) -> None:
        """Ask, and pass on the answer, in the background."""
        task = asyncio.create_task(asking)
        self._asking[request] = task
        task.add_done_callback(lambda _: self._asking.pop(request, None))

    async def withdraw(self, request: str) -> None:
        """Stop asking what the agent no longer waits for; that is reported on return."""
        if task := self._asking.get(request):
            await _cancel([task])

    async def withdraw_all(self) -> None:
        await _cancel([*self._asking.values()])


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
