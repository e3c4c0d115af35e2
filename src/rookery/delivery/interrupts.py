"""Interrupt the turn of a session for an urgent message that waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection

from rookery.model.facts import KeysPressed, SessionId
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.ports.agent import Agent
from rookery.ports.runtime import Runtime
from rookery.store import messages, sessions, turn_changes, wait_for_change
from rookery.store.database import Database
from rookery.store.journal import Journal

#: Seconds for the keys to interrupt a turn, and how often they are pressed at most.
INTERRUPT_TIMEOUT_S, INTERRUPT_TRIES = 3.0, 3


@dataclass(frozen=True, slots=True)
class TurnInterrupts:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]

    async def interrupt(self, session: Session) -> bool:
        """Interrupt the turn that an urgent message waits for. False if that is not possible.

        A key is counted before it is pressed: the next daemon presses it again only while the
        session still works.
        """
        if await self._shows_dialog(session):
            return False  # the key would answer it
        if not await self.database.write(partial(self._note, session=session)):
            return False

        def has_moved(db: Connection) -> bool:
            return sessions.get(db, session.id).activity is not Activity.WORKING

        await self.runtime.interrupt(session.id)
        await wait_for_change.until(
            self.database,
            has_moved,
            seconds=INTERRUPT_TIMEOUT_S,
            clock=self.journal.clock,
            sessions=(session.id,),
        )
        return True

    async def _shows_dialog(self, session: Session) -> bool:
        if not session.has_terminal:
            return False
        return (await self.runtime.terminal(session.id).view()).dialog is not None

    def _note(self, db: Connection, session: Session) -> bool:
        """Record that the keys are about to be pressed. False if there is no reason for it."""
        is_working = sessions.get(db, session.id).activity is Activity.WORKING
        if not is_working or _waits_for_subagents(db, session.id):
            return False
        author = messages.count_interrupt(db, session.id, most=INTERRUPT_TRIES)
        if author:
            keys = " ".join(self.agents[session.agent].input.interrupt)
            self.journal.append(db, KeysPressed(session.id, keys, author))
        return bool(author)


def _waits_for_subagents(db: Connection, session: SessionId) -> bool:
    """Return whether its turn is over but for subagents, which no interrupt stops."""
    return turn_changes.is_paused(db, session) and not turn_changes.goes_on(db, session)
