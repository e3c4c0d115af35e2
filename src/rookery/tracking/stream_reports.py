"""Record what the streams of driven sessions report, each event once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import TypeAlias, assert_never

from rookery.coordination.overlaps import note_edits
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.ports.sightings import (
    AgentAsked,
    AgentStoppedAsking,
    Finished,
    Reported,
    ReportedTogether,
    StartLost,
    TextsReported,
)
from rookery.sessions import record_end
from rookery.store import blocks, driven_streams, evidence, senders, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.tracking.edited_files import EditedFileFinder
from rookery.tracking.prices import Prices, with_estimate
from rookery.tracking.protocol_requests import ProtocolRequests
from rookery.tracking.stream_edits import StreamEditFinder, StreamEdits

#: What is seen of a driven session, and of no other.
StreamSighting: TypeAlias = (
    Reported
    | TextsReported
    | ReportedTogether
    | AgentAsked
    | AgentStoppedAsking
    | Finished
    | StartLost
)

#: What is recorded by its number.
Report: TypeAlias = Reported | TextsReported


@dataclass(frozen=True, slots=True)
class StreamReports:
    database: Database
    journal: Journal
    requests: ProtocolRequests
    prices: Prices = field(default_factory=dict)  #: for agents that report tokens and no cost
    edited_files: EditedFileFinder = field(default_factory=EditedFileFinder)

    async def record(self, sighting: StreamSighting) -> None:
        match sighting:
            case Reported() | TextsReported():
                await self._record_reports((sighting,))
            case ReportedTogether(reports):
                await self._record_reports(reports)
            case AgentAsked():
                await self.requests.decide(sighting)
            case AgentStoppedAsking():
                await self.requests.end(sighting)
            case Finished():
                await self.database.write(partial(self._finish, finished=sighting))
            case StartLost(session):
                await self.database.write(partial(sessions.let_go, session=session))
                self.database.bells.wake(session)  # the supervisor waits for the start
            case _:
                assert_never(sighting)

    async def _record_reports(self, reports: Sequence[Report]) -> None:
        edits = await StreamEditFinder(self.database, self.edited_files).find(reports)
        await self.database.write(partial(self._record_all, reports=reports, edits=edits))

    def _record_all(
        self, db: Connection, reports: Sequence[Report], edits: StreamEdits
    ) -> None:
        """Record events of several sessions, each unless it was recorded before."""
        by_session: dict[SessionId, list[Report]] = {}
        for each in reports:
            by_session.setdefault(each.session, []).append(each)
        for session, told in by_session.items():
            recorded = driven_streams.last_number(db, session)
            new = [each for each in told if each.number > recorded or not each.number]
            if new:
                self._record_of_session(db, session, new, recorded)
                self._note_edits(db, new, edits)

    def _record_of_session(
        self, db: Connection, session: SessionId, reports: Sequence[Report], recorded: int
    ) -> None:
        detail, at = "output", self.journal.clock.now()
        for each in reports:
            at = each.at or at
            if isinstance(each, TextsReported):
                # The file may be read again from its beginning, with more texts together.
                new = each.texts[-(each.number - recorded) :]
                blocks.append_texts(db, session, new, at=at)
                continue
            self._record(db, each, at=at)
            if each.facts:
                detail = type(each.facts[-1]).__name__
        driven_streams.advance(db, session, max(each.number for each in reports))
        evidence.note_state(db, session, "stream", at=at, detail=detail)

    def _note_edits(
        self, db: Connection, reports: Sequence[Report], edits: StreamEdits
    ) -> None:
        """Record the files that events report as changed, and overlaps with other sessions."""
        for each in reports:
            if files := edits.get((each.session, each.number)):
                at = each.at or self.journal.clock.now()
                note_edits(db, self.journal, each.session, files, at=at)

    def _record(self, db: Connection, report: Reported, *, at: datetime) -> None:
        """Record an event with all its effects."""
        if self._fail_shared(db, report):
            return
        self._learn(db, report)
        if report.blocks:
            blocks.append(db, report.session, report.blocks, at=at)
        for fact in report.facts:
            self.journal.append(db, self._priced(db, fact), at=at)

    def _fail_shared(self, db: Connection, report: Reported) -> bool:
        """Fail a session whose conversation another live one has: two would corrupt it."""
        native_id, session = report.native_id, report.session
        holder = native_id and driven_streams.live_holder(db, session, native_id)
        if not holder:
            return False
        reason = f"its agent reports the conversation {native_id}, which {holder} has already"
        return record_end.end(db, self.journal, session, outcome="failed", reason=reason)

    def _priced(self, db: Connection, fact: Fact) -> Fact:
        """Estimate the cost of usage that is reported without one."""
        if not isinstance(fact, facts.UsageReported):
            return fact
        return with_estimate(fact, self.prices, sessions.get(db, fact.session).model)

    def _learn(self, db: Connection, report: Reported) -> None:
        if report.native_id:
            driven_streams.set_native_id(db, report.session, report.native_id)
        if report.process:
            driven_streams.set_process(db, report.session, report.process)
        if report.permission_mode:
            senders.learn_mode(db, report.session, report.permission_mode)
        if report.total_cost is not None:
            driven_streams.note_total_cost(db, report.session, report.total_cost)

    def _finish(self, db: Connection, finished: Finished) -> None:
        """End a session."""
        session = finished.session
        is_ended = record_end.end(
            db,
            self.journal,
            session,
            outcome=finished.outcome,
            reason=finished.reason,
            lost=finished.lost,
        )
        if is_ended and finished.is_over_budget:
            self.journal.append(db, facts.BudgetExceeded(session, finished.reason))
