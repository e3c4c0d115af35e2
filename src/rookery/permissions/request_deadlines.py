"""Deny requests at their deadline, or leave them to the agent's own dialog."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery import supervise
from rookery.model.actors import CLOCK
from rookery.model.permissions import Outcome, RequestId, Verdict
from rookery.permissions.decisions import Permissions
from rookery.store import dialogs, missed_requests, requests
from rookery.store.database import Database


@dataclass(frozen=True, slots=True)
class RequestDeadlines:
    permissions: Permissions

    async def keep(self, database: Database) -> None:
        """Deny requests at their deadline or leave them to the agent's dialog, forever."""

        async def put_off(jump: timedelta) -> None:
            # While the computer slept, a person could not answer.
            await database.write(partial(dialogs.put_off, by=jump))

        async def expire() -> None:
            await self.expire_all(database)

        clock, name = self.permissions.journal.clock, "Watching requests' deadlines"
        await supervise.watch_deadlines(clock, put_off, expire, name=name)

    async def expire_all(self, database: Database) -> None:
        """Expire each overdue request; one that fails delays no other."""
        overdue = await database.read(self.overdue)
        expire = (partial(self.expire, request_id=each) for each in overdue)
        await supervise.all_of(partial(database.write, each) for each in expire)

    def overdue(self, db: Connection) -> list[RequestId]:
        return requests.overdue(db, now=self.permissions.journal.clock.now())

    def expire(self, db: Connection, request_id: RequestId) -> None:
        """Deny a request past its deadline, or leave it to the agent's own dialog."""
        permissions = self.permissions
        if request_id not in self.overdue(db):
            return  # it was answered meanwhile
        request = requests.get(db, request_id)
        if permissions.on_timeout == "terminal" and permissions.has_dialog(db, request):
            permissions.leave(db, request, "not answered in time")
        else:
            verdict = Verdict(Outcome.DENIED, CLOCK, "Not answered in time.")
            permissions.answer(db, request, verdict)
        missed_requests.mark(db, request_id)
