"""What happens because time passes: the inactive are ended, the old is forgotten."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from rookery import endings
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import EndRequested
from rookery.model.sessions import HEADLESS, TMUX, Session
from rookery.ports import Runtime
from rookery.store import retention, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal

_log = logging.getLogger(__name__)

#: Seconds between two rounds.
ROUND = 60.0

#: A longer one than this means that the clock has jumped.
LONGEST_ROUND = timedelta(minutes=30)


#: A headless session of an unknown process that has told its start only is ended after this.
UNIDENTIFIED_SILENCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Spans:
    inactive: timedelta  #: then a session is ended
    retention: timedelta  #: then an entry is forgotten
    kept_sessions: int


@dataclass(frozen=True, slots=True)
class Timers:
    database: Database
    journal: Journal
    runtime: Runtime
    spans: Spans
    artifacts: Path | None = None  #: what is kept of sessions, for as long as they are

    async def run(self) -> None:
        skipped, before = timedelta(), self.journal.clock.now()
        while True:
            now = self.journal.clock.now()
            if (jump := now - before) > LONGEST_ROUND:
                # The computer slept, or its clock was set: nobody was inactive meanwhile.
                skipped += jump
            before = now
            try:
                await self.round(skipped)
            except Exception:  # noqa: BLE001 - a supervised boundary
                _log.exception("A round of the clock failed; the next will try again.")
            await self.journal.clock.sleep(ROUND)

    async def round(self, skipped: timedelta = timedelta()) -> None:
        """Do what is due; ``skipped`` is time that passed on the clock only."""
        await self._end_the_inactive(skipped)
        await self._end_the_unidentified(skipped)
        await self._forget(skipped)

    async def _end_the_inactive(self, skipped: timedelta) -> None:
        since = self.journal.clock.now() - self.spans.inactive - skipped
        for session in await self.database.read(partial(sessions.inactive, since=since)):
            if not await self._is_attached(session):
                await self.database.write(partial(self._end, session=session))

    async def _end_the_unidentified(self, skipped: timedelta) -> None:
        """End headless records that nothing but a start call stands for: any process can call.

        An agent that lives becomes a session again with its next prompt.
        """
        since = self.journal.clock.now() - UNIDENTIFIED_SILENCE - skipped
        reason = "nothing but its start was heard of it, and its process is not known"
        for session in await self.database.read(partial(sessions.only_started, since=since)):
            end = partial(self._end_record, session=session, reason=reason)
            await self.database.write(end)

    async def _is_attached(self, session: Session) -> bool:
        try:
            return session.runtime != HEADLESS and await self.runtime.is_attached(session.id)
        except RuntimeFailed:
            # Not known: of ours that is no time to end it. Of others only the record ends.
            return session.runtime == TMUX

    def _end(self, db: Connection, session: Session) -> None:
        if session.runtime != TMUX:  # not ours to end: only its record is
            hours = self.spans.inactive.total_seconds() / 3600
            self._end_record(db, session, f"nothing was heard of it for {hours:g} h")
        elif not _has_stirred(db, session):
            self.journal.append(db, EndRequested(session.id, "idle"))

    def _end_record(self, db: Connection, session: Session, reason: str) -> None:
        if not _has_stirred(db, session):
            endings.end(db, self.journal, session.id, outcome="completed", reason=reason)

    async def _forget(self, skipped: timedelta) -> None:
        before = self.journal.clock.now() - self.spans.retention - skipped
        while await self.database.write(partial(retention.forget_aged, before=before)):
            pass
        keep = self.spans.kept_sessions
        while await self.database.write(partial(retention.forget_sessions, keep=keep)):
            pass
        if self.artifacts:
            clear = partial(retention.forget_artifacts, folder=self.artifacts)
            await self.database.read(clear)


def _has_stirred(db: Connection, session: Session) -> bool:
    """Return whether something was heard of a session since it was looked at."""
    return sessions.get(db, session.id).last_activity_at != session.last_activity_at
