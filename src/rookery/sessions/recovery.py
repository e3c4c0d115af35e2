"""Recovers sessions at the daemon's start: finds their panes, and ends the lost ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from uuid import uuid4

from rookery.agents.names import SHELL
from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionFound, SessionId, SessionRecovered
from rookery.model.lifecycle import Status
from rookery.model.names import distinct, usable
from rookery.model.sessions import OBSERVED, NativeId, Session
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import HeldProgram, Runtime, RuntimeHandle, SurvivingProcess
from rookery.processes import Process, is_running
from rookery.sessions import record_end
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.session_lookup import TakenNames
from rookery.supervise import SupervisedStep

#: Seconds before the panes are listed again.
RETRY_SECONDS = 1.0

#: Seconds before a retry after a failure: the first delay and the maximum.
RETRY_BACKOFF_S = (1.0, 5.0)


@dataclass(frozen=True, slots=True)
class SessionRecovery:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]

    async def recover(self) -> None:
        """Find the sessions that still run after the daemon's restart, and end the others."""
        live = await self.database.read(sessions.live)
        ours = [each for each in live if not (each.is_headless or each.is_in_user_pane)]
        panes = await self._find(ours)
        without_pane: dict[SessionId, SurvivingProcess | RuntimeHandle] = {
            **_without_pane(ours, panes),
            **await self.database.read(lambda db: _unlisted_driven(db, ours, panes)),
        }
        await self.database.write(
            lambda db: self._record_recovery(db, ours, panes, without_pane)
        )
        headless = [each for each in live if each.is_headless and _runs(each)]
        await self.database.write(lambda db: self._record_running(db, headless))
        await self.database.write(lambda db: self._add_unknown_panes(db, panes))
        for session in await self.database.read(_sessions_to_adopt):
            found = panes.get(session.held_as)
            if program := found.handle if found else without_pane.get(session.id):
                await self._adopt(session, program)

    async def _adopt(self, session: Session, program: RuntimeHandle | SurvivingProcess) -> None:
        try:
            await self.runtime.adopt(session.id, self.agents[session.agent], program)
        except RuntimeFailed:
            if session.is_driven:
                await self.database.write(lambda db: self._lose(db, session))
            # Else it ends at this moment; the watch reports that.

    async def _find(self, ours: Sequence[Session]) -> Mapping[str, HeldProgram]:
        panes = await self._list_panes()
        if any(each.held_as not in panes for each in ours if not each.is_driven):
            # A session counts as lost only after two checks: the first may be too early.
            await self._clock.sleep(RETRY_SECONDS)
            panes = {**panes, **await self._list_panes()}
        return panes

    async def _list_panes(self) -> Mapping[str, HeldProgram]:
        """List the panes. A failure proves nothing about them, and is retried for ever."""
        panes: Mapping[str, HeldProgram] = {}

        async def find() -> None:
            nonlocal panes
            panes = await self.runtime.find()

        name = "Finding the sessions that still run"
        step = SupervisedStep(name, self._clock, backoff=RETRY_BACKOFF_S)
        while not await step.attempt(find):
            pass
        return panes

    def _record_recovery(
        self,
        db: Connection,
        ours: Sequence[Session],
        panes: Mapping[str, HeldProgram],
        without_pane: Mapping[SessionId, SurvivingProcess | RuntimeHandle],
    ) -> None:
        for session in ours:
            if found := panes.get(session.held_as):
                sessions.record_held(db, session.id, found)
                self.journal.append(db, SessionRecovered(session.id))
            elif session.id in without_pane:
                self.journal.append(db, SessionRecovered(session.id))
            elif session.status is not Status.STARTING:  # a starting one is started later
                self._lose(db, session)

    def _lose(self, db: Connection, session: Session) -> None:
        reason = "lost while the daemon was away"
        record_end.end(db, self.journal, session.id, outcome="failed", reason=reason, lost=True)

    def _record_running(self, db: Connection, headless: Sequence[Session]) -> None:
        """Record that these outlived the daemon's absence, which is no silence of theirs."""
        for session in headless:
            self.journal.append(db, SessionRecovered(session.id))

    def _add_unknown_panes(self, db: Connection, panes: Mapping[str, HeldProgram]) -> None:
        """Add a row for each pane on Rookery's server without one; they are only watched."""
        for name in sorted(set(panes) - sessions.program_names(db)):
            now, found = self._clock.now(), panes[name]
            if found.address is None:
                continue  # without a terminal there is nothing to watch
            session = Session(
                id=SessionId(str(uuid4())),
                name=distinct(usable(name), TakenNames(db)),
                agent=SHELL,
                runtime=OBSERVED,
                computer=self.journal.computer,
                native_id=NativeId(f"tmux_{found.address.tmux_pane}"),
                owner="discovery",
                since=now,
                created_at=now,
                last_activity_at=now,
            )
            sessions.add(db, session)
            sessions.record_held(db, session.id, found)
            self.journal.append(db, SessionFound(session.id))

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _without_pane(
    ours: Sequence[Session], panes: Mapping[str, HeldProgram]
) -> dict[SessionId, SurvivingProcess]:
    """Return the sessions whose program runs though its pane is gone, as after a tmux crash."""
    return {
        each.id: SurvivingProcess(each.process)
        for each in ours
        if each.process
        and each.is_ours
        and each.has_terminal
        and each.held_as not in panes
        and _runs(each)
    }


def _unlisted_driven(
    db: Connection, ours: Sequence[Session], panes: Mapping[str, HeldProgram]
) -> dict[SessionId, RuntimeHandle]:
    """Return the handles of driven sessions that their runtime could not list.

    Its driver host may not answer now; the runtime ends those that it finds to be gone.
    """
    return {
        each.id: handle
        for each in ours
        if each.is_driven
        and each.status is not Status.STARTING
        and each.held_as not in panes
        and (handle := sessions.handle_of(db, each.id))
    }


def _runs(session: Session) -> bool:
    """Return whether a session's process is known and runs."""
    return session.process is not None and is_running(Process.read(session.process))


def _sessions_to_adopt(db: Connection) -> list[Session]:
    """Return live sessions, and ended ones whose last screen is still to be saved."""
    return [
        each
        for each in (*sessions.live(db), *sessions.left_over(db))
        if not each.is_in_user_pane  # discovery finds those
    ]
