"""End the sessions of the driver host that the database does not know.

There are some after an older backup was restored. What the host knows of them is too little
for a row: neither the agent nor the name. Without a row they would run on unseen.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Protocol

from rookery.model.facts import SessionId
from rookery.store import sessions
from rookery.store.database import Database

_log = logging.getLogger(__name__)


class ListsSessions(Protocol):
    """A runtime that can be asked for all its sessions. May raise ``RuntimeFailed``."""

    async def list_sessions(self) -> Collection[SessionId]: ...

    async def discard(self, session: SessionId) -> None:
        """End a session that has no row, and remove what it left."""
        ...


async def end_unknown_sessions(database: Database, runtime: ListsSessions) -> None:
    """End the sessions without a row."""
    listed = await runtime.list_sessions()
    # After that: a session has its row before it is started.
    known = await database.read(
        lambda db: {each for each in listed if sessions.is_known(db, each)}
    )
    for session in sorted({*listed} - known):
        await runtime.discard(session)
        _log.warning(
            "The driven session %s is ended: the database has no record of it.", session
        )
