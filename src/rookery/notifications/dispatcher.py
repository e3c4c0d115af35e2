"""Send the notifications of one channel, each at most once, whenever the daemon dies.

A notification is ``sending`` on disk before the channel gets it. A daemon that dies before it
has recorded the result leaves it so; the next one marks it ``unsure`` and does not send it
again, because a bell cannot be asked whether it rang. A request that a person must answer is
told again by its reminder. What a channel reports as not sent is tried again later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery import supervise
from rookery.model.errors import NotificationDoubted, NotificationFailed, RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.notifications import (
    Notification,
    NotificationId,
    NotificationItem,
    NotificationKind,
    NotificationState,
)
from rookery.notifications.conditions import ATTACHED, why_skip
from rookery.notifications.outcomes import READER
from rookery.ports.clock import Clock
from rookery.ports.notifier import Notifier
from rookery.ports.runtime import Runtime
from rookery.store import due_notifications, notifications
from rookery.store.database import Database
from rookery.store.due_notifications import Pauses
from rookery.store.wait_for_change import within

_log = logging.getLogger(__name__)

#: Maximum seconds between two checks whether a notification is due: the clock may be set.
MAX_PAUSE_S = 60.0

#: Seconds before each further attempt, after the channel reported an error.
RETRY_PAUSES_S = (5.0, 30.0, 120.0)


#: The order of kinds that are due at once: a request comes before the end of a turn.
_ORDER = tuple(NotificationKind)


@dataclass(frozen=True, slots=True)
class NotificationTiming:
    batch: timedelta  #: how long a notification waits for others of its kind
    reminder: timedelta  #: until an open request is notified once more; zero: never
    waiting: timedelta  #: minimum between two notifications that the same session waits
    long_turn: timedelta  #: until it is notified that a turn still runs

    @property
    def pauses(self) -> Pauses:
        return Pauses(self.batch, self.waiting, self.long_turn)


@dataclass(frozen=True, slots=True)
class NotificationDispatcher:
    """Sends the notifications that wait for one channel."""

    database: Database
    clock: Clock
    runtime: Runtime
    notifier: Notifier
    timing: NotificationTiming

    async def run(self) -> None:
        """Send notifications when they are due. Runs for ever."""
        name = f"Sending notifications by {self.notifier.name}"
        sending = supervise.SupervisedStep(name, self.clock)
        pause = 0.0
        was_interrupted = True  # an earlier daemon may have died while it sent

        async def send() -> None:
            nonlocal pause, was_interrupted
            if was_interrupted:
                await self.database.write(self._abandon_sending)
                was_interrupted = False
            await self.send_due()
            pause = await self._seconds_until_next()

        while True:
            # Taken before the rows are read, so that no change is missed in between.
            change = self.database.bells.of_kinds(READER.hears)
            if await sending.attempt(send):
                await within(pause, change.wait, self.clock)
            else:
                was_interrupted = True

    async def _seconds_until_next(self) -> float:
        next_due = partial(
            due_notifications.next_due, channel=self.notifier.name, pauses=self.timing.pauses
        )
        if (due := await self.database.read(next_due)) is None:
            return MAX_PAUSE_S
        return min((due - self.clock.now()).total_seconds(), MAX_PAUSE_S)

    async def send_due(self) -> None:
        """Once a notification is due, send all that may be sent now, in the order of kinds."""
        due = partial(
            due_notifications.due,
            channel=self.notifier.name,
            pauses=self.timing.pauses,
            now=self.clock.now(),
        )
        # What was sent may hold back others of the same session, so the rest is read again.
        while found := await self.database.read(due):
            kind = min((each.kind for each in found), key=_ORDER.index)
            await self._send(kind, [each for each in found if each.kind is kind])

    async def _send(self, kind: NotificationKind, items: Sequence[NotificationItem]) -> None:
        hindrance = await self.notifier.why_not()
        attached = await self._attached(items)
        claim = partial(self._claim, items, attached, hindrance)
        claimed = await self.database.write(claim)
        if not claimed:
            return
        record = partial(self._settle, claimed, NotificationState.SENT, "")
        try:
            await self.notifier.send(Notification(kind, tuple(claimed)))
        except NotificationDoubted as error:
            record = partial(self._settle, claimed, NotificationState.UNSURE, str(error))
        except NotificationFailed as error:
            _log.warning("%s: %s", self.notifier.name, error)
            record = partial(self._record_failure, claimed, str(error))
        await self.database.write(record)

    async def _attached(self, items: Iterable[NotificationItem]) -> set[SessionId]:
        """Return the sessions to which a person is attached."""
        sessions = {each.session for each in items if not each.is_reminder}
        return {each for each in sessions if await self._is_attached(each)}

    async def _is_attached(self, session: SessionId) -> bool:
        try:
            return await self.runtime.terminal(session).is_attached()
        except RuntimeFailed:  # the session has no terminal, or no longer
            return False

    def _claim(
        self,
        items: Sequence[NotificationItem],
        attached: set[SessionId],
        hindrance: str,
        db: Connection,
    ) -> list[NotificationItem]:
        """Mark as skipped what must not be sent; mark the rest as being sent and return it."""
        now = self.database.clock.now()
        kept: list[NotificationItem] = []
        for item in items:
            reason = why_skip(db, item, now=now) or hindrance
            # Reminders are sent anyway: by then, an attached person has probably left.
            if not reason and item.session in attached and not item.is_reminder:
                reason = ATTACHED
            if reason:
                self._settle([item], NotificationState.SKIPPED, reason, db)
            else:
                kept.append(item)
        notifications.begin(db, [each.id for each in kept], at=now)
        return kept

    def _settle(
        self,
        items: Sequence[NotificationItem],
        state: NotificationState,
        reason: str,
        db: Connection,
    ) -> None:
        """Record the result, and write the reminders that follow."""
        now, ids = self.database.clock.now(), [each.id for each in items]
        notifications.settle(db, ids, state, reason=reason, at=now)
        self._add_reminders(db, ids)

    def _record_failure(
        self, items: Sequence[NotificationItem], reason: str, db: Connection
    ) -> None:
        """Let failed notifications wait for the next attempt, except after the last attempt."""
        now = self.database.clock.now()
        for item in items:
            if item.attempts < len(RETRY_PAUSES_S):
                pause = timedelta(seconds=RETRY_PAUSES_S[item.attempts])
                notifications.retry(db, [item.id], reason=reason, due_at=now + pause)
            else:
                self._settle([item], NotificationState.FAILED, reason, db)

    def _abandon_sending(self, db: Connection) -> None:
        now = self.database.clock.now()
        ids = notifications.abandon_sending(db, self.notifier.name, at=now)
        self._add_reminders(db, ids)

    def _add_reminders(self, db: Connection, ids: Sequence[NotificationId]) -> None:
        if self.timing.reminder:
            now = self.database.clock.now()
            due_at = now + self.timing.reminder
            notifications.add_reminders(db, ids, at=now, due_at=due_at)
