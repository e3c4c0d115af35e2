"""Sessions that need something are served side by side, each one step at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from sqlite3 import DatabaseError
from typing import TypeAlias

import anyio

from rookery import supervise
from rookery.model.facts import Fact, SessionId
from rookery.store.database import Database, Work

_log = logging.getLogger(__name__)

#: Does the next thing for a session. False if there is nothing to do now.
Step: TypeAlias = Callable[[SessionId], Awaitable[bool]]


async def serve(
    database: Database,
    needy: Work[list[SessionId]],
    step: Step,
    *,
    hears: frozenset[type[Fact]] | None = None,
) -> None:
    """Take steps for those whom ``needy`` names, whenever the bell rings; for ever.

    ``hears`` are the facts that can make a session needy; without it, all may but for those
    that leave nothing to do.
    """
    served: set[SessionId] = set()

    def hang_bell() -> asyncio.Event:
        return database.bells.of_work() if hears is None else database.bells.of_kinds(hears)

    async with anyio.create_task_group() as tasks:
        while True:
            # Taken before the reading, so that nothing falls between it and the wait.
            bell, any_bell = hang_bell(), database.bell()
            try:
                found = await database.read(needy)
            except DatabaseError:
                # A disk that fails: it works again once anything could be written.
                _log.exception("Who needs something cannot be read.")
                bell, found = any_bell, []
            for session in found:
                if session not in served:
                    served.add(session)
                    tasks.start_soon(_serve_one, hang_bell, session, step, served)
            await bell.wait()


async def _serve_one(
    hang_bell: Callable[[], asyncio.Event],
    session: SessionId,
    step: Step,
    served: set[SessionId],
) -> None:
    async def serve_on() -> None:
        while True:
            bell = hang_bell()
            # Stay if the bell rang: the loop saw this session served, and will not come back.
            if not await step(session) and not bell.is_set():
                break

    # A step that raises is taken again once something was committed.
    await supervise.contained(serve_on, name=f"A step for session {session}")
    served.discard(session)
