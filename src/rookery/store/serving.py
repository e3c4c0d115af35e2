"""Sessions that need something are served side by side, each one step at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

from rookery.model.facts import SessionId
from rookery.store.database import Database, Work

#: Does the next thing for a session. False if there is nothing to do now.
Step: TypeAlias = Callable[[SessionId], Awaitable[bool]]


async def serve(database: Database, needy: Work[list[SessionId]], step: Step) -> None:
    """Take steps for those whom ``needy`` names, whenever the bell rings; for ever."""
    served: set[SessionId] = set()
    async with anyio.create_task_group() as tasks:
        while True:
            # Taken before the reading, so that nothing falls between it and the wait.
            bell = database.bell()
            for session in await database.read(needy):
                if session not in served:
                    served.add(session)
                    tasks.start_soon(_serve_one, database, session, step, served)
            await bell.wait()


async def _serve_one(
    database: Database, session: SessionId, step: Step, served: set[SessionId]
) -> None:
    while True:
        bell = database.bell()
        # Not while it rings: whoever rang may have seen this session served and passed on.
        if not await step(session) and not bell.is_set():
            break
    served.discard(session)
