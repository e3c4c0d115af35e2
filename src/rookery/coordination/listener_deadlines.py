"""Report waits that have expired, and check listeners that have waited long."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery import supervise
from rookery.coordination.listeners import notify_of_end, write_news
from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.model.listeners import WAITED_IN_VAIN
from rookery.model.sessions import Session
from rookery.store import listeners, sessions
from rookery.store.database import Database
from rookery.store.journal import Entry, Journal

_log = logging.getLogger(__name__)

#: Seconds between two checks of deadlines.
CHECK_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ListenerDeadlines:
    """Handles the deadlines of listeners, and listeners that have waited long."""

    journal: Journal
    check: timedelta  #: the interval between two checks of old listeners
    stale: timedelta  #: the age at which a listener is checked

    async def keep_time(self, database: Database) -> None:
        """Report expired waits and check listeners that have waited long, forever."""
        clock = self.journal.clock
        checked = clock.now()

        async def look() -> None:
            nonlocal checked
            now = clock.now()
            if await database.read(partial(listeners.overdue, now=now)):
                await database.write(self.expire)
            if now - checked >= self.check:
                checked = now
                for caller in await database.write(self.look_after):
                    database.bells.wake(caller)

        await supervise.every(
            CHECK_INTERVAL_SECONDS, look, name="Watching listeners", clock=clock
        )

    def expire(self, db: Connection) -> int:
        """Notify the sessions whose wait has expired. Returns how many there were."""
        due = listeners.overdue(db, now=self.journal.clock.now())
        for wait in due:
            missing = [sessions.get(db, each).name for each in listeners.awaited(db, wait.id)]
            names = ", ".join(missing)
            texts = [*listeners.heard(db, wait.id), WAITED_IN_VAIN.format(still=names)]
            listeners.end_wait(db, wait.id)
            seq = self.journal.append(db, facts.WaitExpired(wait.caller, names))
            write_news(db, wait.caller, "\n".join(texts), seq)
        return len(due)

    def look_after(self, db: Connection) -> list[SessionId]:
        """Notify the sessions that wait for an ended session; the other listeners stay.

        Returns the notified sessions.
        """
        now, notified = self.journal.clock.now(), list[SessionId]()
        for target in listeners.stale(db, before=now - self.stale):
            session = sessions.get(db, target)
            if session.status.is_over:
                notified += self._notify_late(db, session)
            else:
                _log.info("%s is still waited for.", session.name)
                listeners.check(db, target, at=now)
        return notified

    def _notify_late(self, db: Connection, target: Session) -> list[SessionId]:
        noted = facts.Noted(target.id, "waited for, and over")
        seq = self.journal.append(db, noted)
        entry = Entry(seq, self.journal.clock.now(), noted)
        return notify_of_end(db, entry, target)
