"""Withdraw messages that were not sent before they expired."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery import supervise
from rookery.model.messages import EXPIRY
from rookery.sessions import commands
from rookery.store import message_queue
from rookery.store.database import Database
from rookery.store.journal import Journal


@dataclass(frozen=True, slots=True)
class MessageDeadlines:
    database: Database
    journal: Journal

    async def keep(self) -> None:
        """Withdraw messages when they expire. Runs for ever."""

        async def put_off(jump: timedelta) -> None:
            # While the computer slept, no message could be sent.
            await self.database.write(partial(message_queue.put_off, by=jump))

        clock, name = self.journal.clock, "Watching the expiry of messages"
        await supervise.watch_deadlines(clock, put_off, self.expire, name=name)

    async def expire(self) -> None:
        """Withdraw the messages that have expired and were not sent."""
        expired = partial(message_queue.expired, now=self.journal.clock.now())
        if await self.database.read(expired):
            await self.database.write(self._withdraw)

    def _withdraw(self, db: Connection) -> None:
        for message_id in message_queue.expired(db, now=self.journal.clock.now()):
            message = message_queue.find(db, message_id)
            if message:
                commands.withdraw(db, self.journal, message, by=EXPIRY)
