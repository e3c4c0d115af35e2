"""The questions of an agent that wait for an answer, by the agent's own ids."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class OpenQuestions:
    def __init__(self) -> None:
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._subagents: dict[str, str] = {}  #: those that ask, by request

    def begin(
        self, request: str, asking: Coroutine[None, None, None], *, subagent: str = ""
    ) -> None:
        """Ask, and pass on the answer, in the background."""
        task = asyncio.create_task(asking)
        self._asking[request], self._subagents[request] = task, subagent
        task.add_done_callback(lambda _: self._forget(request))

    def _forget(self, request: str) -> None:
        self._asking.pop(request, None)
        self._subagents.pop(request, None)

    async def withdraw(self, request: str) -> None:
        """Stop asking what the agent no longer waits for; that is reported on return."""
        if task := self._asking.get(request):
            await _cancel([task])

    async def withdraw_of(self, subagent: str) -> None:
        """Stop asking what a subagent asks, or the main agent if the name is empty."""
        asking = self._asking.items()
        await _cancel([task for name, task in asking if self._subagents[name] == subagent])

    async def withdraw_all(self) -> None:
        await _cancel([*self._asking.values()])


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
