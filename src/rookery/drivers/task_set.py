"""Run work in the background: asyncio alone would let a task be collected as garbage."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class TaskSet:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
