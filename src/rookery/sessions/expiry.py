"""Actions that are due by time: ends inactive sessions and deletes old data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from rookery import supervise
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import EndRequested
from rookery.model.lifecycle import Activity
from rookery.model.sessions import Session
from rookery.ports.runtime import Runtime
from rookery.processes import Process, is_running
from rookery.sessions import record_end
from rookery.store import listeners, message_queue, retention, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal

#: Seconds between two rounds.
CHECK_INTERVAL_SECONDS = 60.0

#: A longer time between two rounds means that the clock has jumped.
CLOCK_JUMP = timedelta(minutes=30)


#: A headless session of unknown process that only reported its start is ended after this.
UNIDENTIFIED_SILENCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ExpirySpans:
    inactive: timedelta  #: after this a session is ended
    retention: timedelta  #: after this an entry is deleted
    kept_sessions: int
    driven_idle: timedelta = timedelta(minutes=30)  #: after this a driven session is ended


@dataclass(frozen=True, slots=True)
class ClockGap:
    """A period that passed on the clock only: the computer slept, or its clock was set."""

    since: datetime
    until: datetime


def awake_ago(span: timedelta, *, now: datetime, gaps: Sequence[ClockGap]) -> datetime:
    """Return the moment since which the computer was awake for ``span``.

    Only sleep between that moment and now counts: what began later has its full age.
    """
    for each in reversed(gaps):
        if now - each.until >= span:
            break
        span -= now - each.until
        now = each.since
    return now - span


@dataclass(frozen=True, slots=True)
class Expiry:
    database: Database
    journal: Journal
    runtime: Runtime
    spans: ExpirySpans
    artifacts: Path | None = None  #: kept as long as their sessions

    async def run(self) -> None:
        clock = self.journal.clock
        gaps: list[ClockGap] = []
        before = clock.now()

        async def look() -> None:
            nonlocal gaps, before
            now = clock.now()
            # A clock that was wrong and is set back leaves a sleep that has not happened.
            gaps = [each for each in gaps if each.until <= now]
            if now - before > CLOCK_JUMP:
                # The computer slept, or its clock was set: that does not count as inactivity.
                gaps.append(ClockGap(before, now))
            before = now
            await self.round(gaps)

        await supervise.every(
            CHECK_INTERVAL_SECONDS, look, name="Ending and forgetting by age", clock=clock
        )

    async def round(self, gaps: Sequence[ClockGap] = ()) -> None:
        """Do what is due; ``gaps`` are times that passed on the clock only, oldest first."""
        await self._end_inactive(gaps)
        await self._end_idle_driven(gaps)
        await self._end_unidentified(gaps)
        await self._delete_old(gaps)

    def _ago(self, span: timedelta, gaps: Sequence[ClockGap]) -> datetime:
        return awake_ago(span, now=self.journal.clock.now(), gaps=gaps)

    async def _end_inactive(self, gaps: Sequence[ClockGap]) -> None:
        since = self._ago(self.spans.inactive, gaps)
        for session in await self.database.read(partial(sessions.inactive, since=since)):
            if not (await self._is_attached(session) or _is_at_work(session)):
                await self.database.write(partial(self._end, session=session))

    async def _end_idle_driven(self, gaps: Sequence[ClockGap]) -> None:
        """End driven sessions that are idle for long; a running turn never counts.

        Those that wait for other sessions, or to which a message is on its way, are not idle.
        """
        since = self._ago(self.spans.driven_idle, gaps)
        for session in await self.database.read(partial(sessions.inactive, since=since)):
            if session.is_driven and session.activity is Activity.IDLE:
                await self.database.write(partial(self._end_unless_it_waits, session=session))

    async def _end_unidentified(self, gaps: Sequence[ClockGap]) -> None:
        """End headless sessions known only by a start call, which any process can make.

        A live agent becomes a session again with its next prompt.
        """
        since = self._ago(UNIDENTIFIED_SILENCE, gaps)
        reason = "it reported only its start, and its process is unknown"
        for session in await self.database.read(partial(sessions.only_started, since=since)):
            end = partial(self._end_record, session=session, reason=reason)
            await self.database.write(end)

    async def _is_attached(self, session: Session) -> bool:
        try:
            if not session.has_terminal:
                return False
            return await self.runtime.terminal(session.id).is_attached()
        except RuntimeFailed:
            # Unknown: keep a session that Rookery started. Of others only the record ends.
            return session.is_ours

    def _end(self, db: Connection, session: Session) -> None:
        if not session.is_ours:  # Rookery does not end it, only its record
            hours = self.spans.inactive.total_seconds() / 3600
            self._end_record(db, session, f"it reported nothing for {hours:g} h")
        elif not _was_active_since(db, session):
            self.journal.append(db, EndRequested(session.id, "idle"))

    def _end_unless_it_waits(self, db: Connection, session: Session) -> None:
        """End a session unless it waits for others, or a message waits for it."""
        waits = listeners.targets_of(db, session.id)
        if not waits and not message_queue.waiting(db, [session.id]):
            self._end(db, session)

    def _end_record(self, db: Connection, session: Session, reason: str) -> None:
        if not _was_active_since(db, session):
            record_end.end(db, self.journal, session.id, outcome="completed", reason=reason)

    async def _delete_old(self, gaps: Sequence[ClockGap]) -> None:
        before = self._ago(self.spans.retention, gaps)
        while await self.database.write(partial(retention.forget_aged, before=before)):
            pass
        keep = self.spans.kept_sessions
        while await self.database.write(partial(retention.forget_sessions, keep=keep)):
            pass
        if self.artifacts:
            clear = partial(retention.forget_artifacts, folder=self.artifacts)
            await self.database.read(clear)


def _is_at_work(session: Session) -> bool:
    """Return whether a turn is open in a program that Rookery did not start and that runs."""
    if session.is_ours or session.process is None or session.activity in {None, Activity.IDLE}:
        return False
    return is_running(Process.read(session.process))


def _was_active_since(db: Connection, session: Session) -> bool:
    """Return whether the session was active since it was read."""
    return sessions.get(db, session.id).last_activity_at != session.last_activity_at
