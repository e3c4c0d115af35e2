"""Record what the runtime observes of sessions: ends at once, screens through their reader."""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from typing import assert_never

import anyio
from anyio.abc import TaskGroup

from rookery import supervise
from rookery.model import facts
from rookery.model.errors import (
    CommitFailed,
    RuntimeFailed,
    ScreenUnread,
    SessionUnknown,
    StoreLost,
)
from rookery.model.lifecycle import Status
from rookery.model.reason_texts import SCREEN_AT_END
from rookery.model.screens import tail
from rookery.ports.runtime import Runtime
from rookery.ports.sightings import (
    AgentAsked,
    AgentStoppedAsking,
    Changed,
    Exited,
    FellQuiet,
    Finished,
    Reported,
    ReportedTogether,
    Sighting,
    Skipped,
    StartLost,
    TextsReported,
    Unsuspended,
    Vanished,
)
from rookery.processes import signal_name
from rookery.sessions import record_end
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.screen_reader import ScreenReader
from rookery.tracking.stream_reports import StreamReports

_log = logging.getLogger(__name__)

#: Seconds before a sighting that could not be recorded is retried.
ERROR_BACKOFF_S = 5.0

#: Sightings that are retried before the next one is recorded, which builds on them.
_IN_ORDER = (Reported, TextsReported, ReportedTogether, AgentStoppedAsking, Finished)

#: The signals that programs get when their terminal goes or the computer is shut down.
_SHUTDOWN_SIGNALS = frozenset({signal.SIGHUP, signal.SIGTERM})


@dataclass(frozen=True, slots=True)
class _StepName:
    """The name of the step that records a sighting.

    It is worded only for the log: the text of many reports takes longer than to record them.
    """

    sighting: Sighting

    def __str__(self) -> str:
        return f"Writing down {self.sighting!r:.200}"


@dataclass(frozen=True, slots=True)
class ScreenWatch:
    database: Database
    journal: Journal
    runtime: Runtime
    screens: ScreenReader
    streams: StreamReports

    async def watch(self) -> None:
        """Record the runtime's sightings, one after the other."""
        async with anyio.create_task_group() as tasks:
            async for sighting in self.runtime.watch():
                if isinstance(sighting, AgentAsked):
                    # A person may take long to answer; other sightings go on meanwhile.
                    self._begin_request(tasks, sighting)
                elif await self._try_record(sighting):
                    continue
                elif isinstance(sighting, _IN_ORDER):
                    await self._retry(sighting)  # in order: later facts build on these
                else:
                    retry = partial(self._retry, sighting)
                    supervise.spawn(tasks, retry, name="Writing down later")

    def _begin_request(self, tasks: TaskGroup, asked: AgentAsked) -> None:
        name, clock = f"A request of session {asked.session}", self.journal.clock
        decide = partial(self.streams.record, asked)
        tasks.start_soon(partial(supervise.until_done, decide, name=name, clock=clock))

    async def _try_record(self, sighting: Sighting) -> bool:
        """Record a sighting. False if it must be retried: nothing would report it later."""
        is_written = False

        async def record() -> None:
            nonlocal is_written
            is_written = await self._record_or_defer(sighting)

        if not await supervise.contained(record, name=_StepName(sighting)):
            if isinstance(sighting, ReportedTogether) and len(sighting.reports) > 1:
                # A report that cannot be recorded must not take those of others with it.
                return all([await self._try_record(each) for each in sighting.reports])
            # An internal error: only the end of a session is worth another try.
            return not isinstance(sighting, Exited | Vanished)
        return is_written or isinstance(sighting, Changed | FellQuiet)

    async def _record_or_defer(self, sighting: Sighting) -> bool:
        try:
            await self._record(sighting)
        except (CommitFailed, StoreLost, ScreenUnread) as error:
            # A full disk, for instance: the sighting may never come again once there is room.
            _log.warning("What was seen cannot be written down yet: %s", error)
            if isinstance(sighting, Changed | FellQuiet):
                self.screens.request_report(sighting.session)
            return False
        except (RuntimeFailed, SessionUnknown):
            # The session is gone; another sighting reports how.
            if isinstance(sighting, ReportedTogether) and len(sighting.reports) > 1:
                raise
        return True

    async def _retry(self, sighting: Sighting) -> None:
        is_written = False
        while not is_written:
            await self.journal.clock.sleep(ERROR_BACKOFF_S)
            is_written = await self._try_record(sighting)

    async def _record(self, sighting: Sighting) -> None:
        match sighting:
            case Exited() | Vanished():
                await self.database.write(lambda db: self._end(db, sighting))
            case Skipped(session):
                gap = facts.OutputMissed(session, "it printed faster than it could be read")
                await self.database.write(lambda db: self.journal.append(db, gap))
            case Unsuspended(session):
                continued = facts.ProgramContinued(session)
                await self.database.write(lambda db: self.journal.append(db, continued))
            case Changed(session):
                await self.screens.read_changed(session)
            case FellQuiet(session):
                await self.screens.read_quiet(session)
            case (
                Reported()
                | TextsReported()
                | ReportedTogether()
                | AgentAsked()
                | AgentStoppedAsking()
                | Finished()
                | StartLost()
            ):
                await self.streams.record(sighting)
            case _:
                assert_never(sighting)

    def _end(self, db: Connection, sighting: Exited | Vanished) -> None:
        """End a session whose program has exited or whose pane is gone."""
        session = sessions.get(db, sighting.session)
        if session.is_in_user_pane:
            # The exit status of a program that Rookery did not start cannot be read.
            has_pane = isinstance(sighting, Exited)
            reason = "its program ended" if has_pane else "its pane is gone"
            record_end.end(db, self.journal, session.id, outcome="completed", reason=reason)
            return
        if isinstance(sighting, Vanished):
            reason = "its tmux pane is gone"
            record_end.end(
                db, self.journal, session.id, outcome="failed", reason=reason, lost=True
            )
            return
        reason = how_it_ended(sighting)
        is_early = session.status is Status.STARTING
        if is_early or sighting.code != 0:
            screen_end = tail(sighting.screen)
            reason = f"{reason}; {SCREEN_AT_END}\n{screen_end}" if screen_end else reason
        well = sighting.code == 0 and not is_early
        outcome: facts.Outcome = "completed" if well else "failed"
        lost = _is_ended_from_outside(sighting)
        record_end.end(db, self.journal, session.id, outcome=outcome, reason=reason, lost=lost)


def how_it_ended(exited: Exited) -> str:
    if exited.signal is not None:
        return f"it was killed by {signal_name(exited.signal)}"
    if exited.code is not None:
        return f"it exited with status {exited.code}"
    return "it ended, and how is unknown"


def _is_ended_from_outside(exited: Exited) -> bool:
    """Return whether a signal that a closing terminal or a shutdown sends ended the program."""
    by_exit_code = {128 + each for each in _SHUTDOWN_SIGNALS}  # as shells and agents report it
    return exited.signal in _SHUTDOWN_SIGNALS or exited.code in by_exit_code
