"""Notes that an agent has asked for our tools, so that its first words may leave."""

from __future__ import annotations

from functools import partial
from sqlite3 import Connection

from rookery.model.facts import Noted, SessionId
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal


async def note_listing(database: Database, journal: Journal, session: SessionId) -> None:
    """Let the first words for a session leave; nothing is written where none wait for it."""

    def note(db: Connection) -> None:
        sessions.meet_tools(db, session)
        # An entry wakes the courier, which may wait for this.
        journal.append(db, Noted(session, "ToolsListed"))

    if await database.read(partial(sessions.awaits_tools, session=session)):
        await database.write(note)
