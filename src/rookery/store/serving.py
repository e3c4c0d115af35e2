"""Sessions that need something are served side by side, each one step at a time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from sqlite3 import DatabaseError
from typing import TypeAlias

import anyio

from rookery import supervise
from rookery.model.facts import SessionId
from rookery.store.database import Database, Work

_log = logging.getLogger(__name__)

#: Does the next thing for a session. False if there is nothing to do now.
Step: TypeAlias = Callable[[SessionId], Awaitable[bool]]


async def serve(database: Database, needy: Work[list[SessionId]], step: Step) -> None:
    """Take steps for those whom ``needy`` names, whenever the bell rings; for ever."""
    served: set[SessionId] = set()
    async with anyio.create_task_group() as tasks:
        while True:
            # Taken before the reading, so that nothing falls between it and the wait.
            bell = database.bell()
            for session in await _read(database, needy):
                if session not in served:
                    served.add(session)
                    tasks.start_soon(_serve_one, database, session, step, served)
            await bell.wait()


async def _read(database: Database, needy: Work[list[SessionId]]) -> list[SessionId]:
    try:
        return await database.read(needy)
    except DatabaseError:
        # A disk that fails: looked at again once something was written, for then it works.
        _log.exception("Who needs something cannot be read.")
        return []


async def _serve_one(
    database: Database, session: SessionId, step: Step, served: set[SessionId]
) -> None:
    async def serve_on() -> None:
        while True:
            bell = database.bell()
            # Not while it rings: whoever rang may have seen this session served and passed on.
            if not await step(session) and not bell.is_set():
                break

    # A step that raises is taken again once something was committed.
    await supervise.contained(serve_on, name=f"A step for session {session}")
    served.discard(session)
