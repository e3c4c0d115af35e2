"""Start, end and clean up sessions on their runtime, as their stored status requires."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

from rookery.model.errors import (
    CommitFailed,
    NoTerminal,
    Occupied,
    RookeryError,
    RuntimeFailed,
    RuntimeUnreachable,
    StoreLost,
)
from rookery.model.facts import (
    EndRequested,
    Fact,
    SessionEnded,
    SessionId,
    SessionRequested,
    StartWaited,
    WorkspaceReady,
)
from rookery.model.lifecycle import Status
from rookery.model.reason_texts import waits_for_place
from rookery.model.screens import tail
from rookery.model.sessions import Session
from rookery.ports.clock import Clock
from rookery.ports.runtime import HeldProgram, Runtime, StopMethod
from rookery.sessions import record_end
from rookery.sessions.launching import Launcher
from rookery.store import driven_places, sessions, wait_for_change, workspaces
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler, SupervisedStep

_log = logging.getLogger(__name__)

#: Seconds after SIGKILL for a program to be gone: the kernel may have to finish a write.
KILL_TIMEOUT_SECONDS = 5.0

#: Seconds before an operation that failed in the runtime is retried.
RETRY_SECONDS = 1.0

#: Seconds before a retry after an unexpected error: the first delay and the maximum.
FAULT_BACKOFF_S = (0.5, 5.0)

#: The facts after which a session must be started, ended or cleaned up.
TRIGGERING_FACTS: frozenset[type[Fact]] = frozenset(
    {SessionRequested, WorkspaceReady, EndRequested, SessionEnded}
)

#: Errors after which another attempt to start a program would fail in the same way.
_FINAL = (RookeryError, OSError, ValueError)

#: Maximum programs that start at the same time: hundreds would all miss their deadlines.
MAX_STARTS = 16

#: Seconds after its launch in which a program that does not come up keeps its slot.
MAX_SLOT_S = 10.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds for an agent to come up, to quit by itself, and to obey SIGTERM."""

    start: float
    quit: float
    terminate: float


@dataclass(frozen=True, slots=True)
class Supervisor:
    database: Database
    journal: Journal
    runtime: Runtime
    launcher: Launcher
    deadlines: Deadlines
    driven_limit: int = 5  #: driven sessions that run at the same time
    #: Limits the programs that start at the same time; the others wait for a slot.
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_STARTS))

    async def run(self) -> None:
        """Start, end and clean up sessions as needed. Runs for ever."""
        await Reconciler(
            name="Starting and ending",
            clock=self._clock,
            pending=partial(self.database.peek, sessions.needing_supervision),
            step=self._step,
            changed=partial(self.database.bells.of_kinds, TRIGGERING_FACTS),
        ).run()

    async def finish(self, *, within: float) -> bool:
        """Wait until the panes of ended sessions are removed. False on timeout."""

        def is_done(db: Connection) -> bool:
            return not sessions.left_over(db)

        return await wait_for_change.until(
            self.database, is_done, seconds=within, clock=self._clock
        )

    async def _step(self, session_id: SessionId) -> bool:
        """Take the next step for a session. False if there is nothing to do now."""
        session = await self.database.peek(lambda db: sessions.get(db, session_id))
        match session.status:
            case Status.STARTING if await self._awaits_workspace(session):
                return False
            case Status.STARTING if await self._awaits_place(session):
                return False
            case Status.STARTING:
                await self._bring_up(session)
            case Status.CLOSING:
                await self._close(session)
            case status if status.is_over:
                return await self._clean_up(session)
            case _:
                return False
        return True

    async def _bring_up(self, session: Session) -> None:
        """Start the program, unless that was done before, and wait until it is up."""
        limit = self.deadlines.start
        async with self.slots:
            if not await self._is_starting(session.id):
                return  # it was ended while it waited for a slot
            try:
                held = await self._launch_in_time(session)
            except (CommitFailed, StoreLost):
                raise  # a full disk is no reason to fail an accepted start
            except _FINAL as error:
                await self._fail(session, f"it could not be started. {error}")
                return
            await self.database.write(partial(_record_held, session=session.id, held=held))
            # This added no journal entry: wake the tasks that wait for the pane.
            self.database.bells.wake(session.id)
            deadline = self._clock.now() + timedelta(seconds=limit)
            seconds = min(limit, MAX_SLOT_S)
            is_up = await self._wait_until_begun(session.id, seconds=seconds)
        remaining = (deadline - self._clock.now()).total_seconds()
        if not is_up and not await self._wait_until_begun(session.id, seconds=remaining):
            screen = tail(await self._screen(session.id))
            shown = f"; its screen shows:\n{screen}" if screen else ""
            await self._fail(session, f"it did not come up within {limit:g} s{shown}")

    async def _wait_until_begun(self, session: SessionId, *, seconds: float) -> bool:
        """Wait until a session has started, or its start is reported lost. False on timeout."""

        def has_begun(db: Connection) -> bool:
            is_starting = sessions.get(db, session).status is Status.STARTING
            return not (is_starting and sessions.has_runtime(db, session))

        wait = partial(wait_for_change.until, self.database, has_begun, sessions=(session,))
        return await wait(seconds=seconds, clock=self._clock)

    async def _launch_in_time(self, session: Session) -> HeldProgram:
        """Launch the program; until the deadline, retry after tmux and internal errors."""
        deadline = self._clock.now() + timedelta(seconds=self.deadlines.start)
        name = f"Starting and ending for session {session.id}"
        faults = SupervisedStep(name, self._clock, backoff=FAULT_BACKOFF_S)
        while True:
            try:
                return await self.launcher.launch(session)
            except RuntimeUnreachable:
                if self._clock.now() >= deadline:
                    raise
                await self._clock.sleep(RETRY_SECONDS)
            except (*_FINAL, sqlite3.Error):
                raise
            except Exception as error:  # supervised: retried until the deadline
                if self._clock.now() >= deadline:
                    message = f"{type(error).__name__}: {error}. See: rookery daemon logs"
                    raise RuntimeFailed(message) from error
                await faults.back_off(error)

    async def _screen(self, session: SessionId) -> tuple[str, ...]:
        try:
            return await self.runtime.terminal(session).read()
        except RuntimeFailed:  # it has no terminal, or its screen cannot be read now
            return ()

    async def _awaits_workspace(self, session: Session) -> bool:
        if session.workspace is None:
            return False
        return await self.database.peek(lambda db: workspaces.is_awaited(db, session.id))

    async def _awaits_place(self, session: Session) -> bool:
        """Return whether a start waits because the limit of driven sessions is reached."""
        if not session.is_driven:
            return False

        limit = self.driven_limit

        def is_full(db: Connection) -> bool:
            return driven_places.must_wait(db, session.id, limit=limit)

        def take_place(db: Connection) -> bool:
            # In one transaction: other starts may have seen the same free place.
            if is_full(db):
                return False
            sessions.hold(db, session.id)
            return True

        if not await self.database.peek(is_full) and await self.database.write(take_place):
            return False
        if not session.reason:
            waited = StartWaited(session.id, waits_for_place(limit))
            await self.database.write(lambda db: self.journal.append(db, waited))
        return True

    async def _is_starting(self, session: SessionId) -> bool:
        current = await self.database.peek(lambda db: sessions.get(db, session))
        return current.status is Status.STARTING

    async def _close(self, session: Session) -> None:
        """End a session: ask the agent in its own way, then SIGTERM, then SIGKILL."""
        has_runtime = await self.database.read(lambda db: sessions.has_runtime(db, session.id))
        if session.is_ours and not has_runtime:
            await self._end_closing(session)  # it was never started
            return
        for method, seconds in (
            (StopMethod.ASK, self.deadlines.quit),
            (StopMethod.TERMINATE, self.deadlines.terminate),
            (StopMethod.KILL, KILL_TIMEOUT_SECONDS),
        ):
            try:
                await self.runtime.stop(session.id, method)
            except (Occupied, RuntimeFailed):
                continue
            if await self._wait_until_left(session.id, Status.CLOSING, seconds=seconds):
                return
        await self._end_closing(session)

    async def _clean_up(self, session: Session) -> bool:
        """Save the last screen; release the runtime's resources; delete the private folder."""
        if not await self.database.read(lambda db: sessions.has_runtime(db, session.id)):
            return False
        await self._save_screen(session)
        await self.runtime.release(session.id)
        shutil.rmtree(self.launcher.context.sessions / session.id, ignore_errors=True)
        await self.database.write(lambda db: sessions.let_go(db, session.id))
        # This added no journal entry: wake tasks that wait for it, such as ``finish``.
        self.database.bells.wake(session.id)
        return True

    async def _save_screen(self, session: Session) -> None:
        try:
            lines = await self.runtime.terminal(session.id).read(history=True)
        except RuntimeFailed as error:
            if not isinstance(error, NoTerminal):
                _log.warning("The last screen of %s is not kept: %s", session.name, error)
            return
        file = self.launcher.context.artifacts / f"{session.id}.txt"
        text = "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
        try:
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:  # a full disk: only the screen is lost
            _log.warning("The last screen of %s is not kept: %s", session.name, error)

    async def _wait_until_left(
        self, session: SessionId, status: Status, *, seconds: float
    ) -> bool:
        def has_left(db: Connection) -> bool:
            return sessions.get(db, session).status is not status

        wait = partial(wait_for_change.until, self.database, has_left, sessions=(session,))
        return await wait(seconds=seconds, clock=self._clock)

    async def _fail(self, session: Session, reason: str) -> None:
        def fail(db: Connection) -> None:
            # It may have come up at the last moment.
            if sessions.get(db, session.id).status is Status.STARTING:
                self._end(db, session.id, reason)

        await self.database.write(fail)

    async def _end_closing(self, session: Session) -> None:
        await self.database.write(lambda db: self._end(db, session.id, session.reason))

    def _end(self, db: Connection, session: SessionId, reason: str) -> None:
        """Record that a session failed or, if its end was requested, that it was killed."""
        record_end.end(db, self.journal, session, outcome="failed", reason=reason)

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _record_held(db: Connection, session: SessionId, held: HeldProgram) -> None:
    sessions.hold(db, session)  # a late report of an earlier attempt may have released it
    sessions.record_held(db, session, held)
