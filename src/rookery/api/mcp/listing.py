"""Record that an agent has listed Rookery's tools, so that its first messages may leave."""

from __future__ import annotations

from functools import partial
from sqlite3 import Connection

from rookery.model.facts import Noted, SessionId
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal


async def note_listing(database: Database, journal: Journal, session: SessionId) -> None:
    """Release a session's first messages. Write nothing if they do not wait for this."""

    def note(db: Connection) -> None:
        sessions.meet_tools(db, session)
        # An entry wakes the dispatcher, which may wait for this.
        journal.append(db, Noted(session, "ToolsListed"))

    if await database.read(partial(sessions.awaits_tools, session=session)):
        await database.write(note)
