"""Starts, recovers, ends and cleans up sessions: carries out their rows on the runtime."""

from __future__ import annotations

import asyncio
import logging
import shlex
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

from rookery.model.errors import (
    CommitFailed,
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
    SessionFound,
    SessionId,
    SessionRecovered,
    SessionRequested,
)
from rookery.model.lifecycle import Status
from rookery.model.names import distinct, usable
from rookery.model.screens import tail
from rookery.model.sessions import OBSERVED, Badge, NativeId, Session, tmux_name
from rookery.ports.agent import Agent, LaunchSpec
from rookery.ports.clock import Clock
from rookery.ports.runtime import Launch, Place, Runtime, StopMethod
from rookery.processes import Process, is_running
from rookery.sessions import endings
from rookery.store import sessions, tokens, waiting
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.sessions import TakenNames
from rookery.supervise import Reconciler, SupervisedStep

_log = logging.getLogger(__name__)

#: Seconds after SIGKILL for a program to be gone; the kernel may still be writing for it.
KILL_TIMEOUT_SECONDS = 5.0

#: Seconds before an operation that failed in the runtime is retried.
RETRY_SECONDS = 1.0

#: The same after an unexpected error: the first delay and the maximum.
FAULT_BACKOFF_S = (0.5, 5.0)

#: How often recovery tries to list the panes before the daemon's start fails.
MAX_RECOVERY_TRIES = 10

#: The facts after which a session must be started, ended or cleaned up.
CARED_FOR: frozenset[type[Fact]] = frozenset({SessionRequested, EndRequested, SessionEnded})

#: Errors after which another attempt to start a program would fail in the same way.
_FINAL = (RookeryError, OSError, ValueError)

#: Programs that start at the same time: hundreds at once would all miss their deadlines.
MAX_STARTS = 16

#: Seconds after which a program that does not come up frees its slot for others.
MAX_SLOT_S = 10.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds for an agent to come up, to quit by itself, and to obey SIGTERM."""

    start: float
    quit: float
    terminate: float


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What Rookery passes to every program that it starts."""

    #: Builds an agent's environment from the caller's.
    environment: Callable[[str, Mapping[str, str]], Mapping[str, str]]
    hook: tuple[str, ...]  #: the hook program and its arguments, without the agent's name
    sessions: Path  #: holds a folder for each session's files
    artifacts: Path  #: what is kept of ended sessions
    door: Path = Path()  #: the socket to which the hook program reports
    spool: Path = Path()  #: where it stores hook calls while no daemon runs
    tools: tuple[str, ...] = ()  #: the command of Rookery's MCP server for agents
    #: Repairs the hook program if it was damaged; run before each start.
    restore_hooks: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Supervisor:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    deadlines: Deadlines
    surroundings: LaunchContext
    #: Limits the programs that start at the same time; the others wait for a slot.
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_STARTS))

    async def recover(self) -> None:
        """Find sessions that survived the daemon's absence, and end those that did not."""
        known = await self.database.read(sessions.live)
        ours = [each for each in known if each.has_terminal and _is_on_own_server(each)]
        held = await self._find(ours)
        cut_off = _without_pane(ours, held)
        await self.database.write(lambda db: self._record_recovery(db, ours, held, cut_off))
        await self.database.write(lambda db: self._add_unknown_panes(db, held))
        for session in await self.database.read(_sessions_to_adopt):
            if place := held.get(session.tmux_session or "") or cut_off.get(session.id):
                with suppress(RuntimeFailed):  # it ends at this moment; the watch reports that
                    await self.runtime.adopt(session.id, self.agents[session.agent], place)

    async def _find(self, ours: Sequence[Session]) -> Mapping[str, Place]:
        held = await self._list_panes()
        if any(each.tmux_session not in held for each in ours):
            # A session counts as lost only after two checks: the first may be too early.
            await self._clock.sleep(RETRY_SECONDS)
            held = {**held, **await self._list_panes()}
        return held

    async def _list_panes(self) -> Mapping[str, Place]:
        """List the panes. A failure proves nothing about them, and is retried."""
        for _ in range(MAX_RECOVERY_TRIES - 1):
            try:
                return await self.runtime.find()
            except RuntimeFailed as error:
                _log.warning("What tmux holds cannot be seen yet: %s", error)
                await self._clock.sleep(RETRY_SECONDS)
        return await self.runtime.find()

    def _record_recovery(
        self,
        db: Connection,
        ours: Sequence[Session],
        held: Mapping[str, Place],
        cut_off: Mapping[SessionId, Place],
    ) -> None:
        for session in ours:
            if place := held.get(session.tmux_session or ""):
                sessions.place(db, session.id, place)
                self.journal.append(db, SessionRecovered(session.id))
            elif session.id in cut_off:
                self.journal.append(db, SessionRecovered(session.id))
            elif session.status is not Status.STARTING:  # a starting one is started later
                self._end(db, session.id, "lost while the daemon was away")

    def _add_unknown_panes(self, db: Connection, held: Mapping[str, Place]) -> None:
        """Add a row for each pane on Rookery's server without one; they are only watched."""
        for name in sorted(set(held) - sessions.tmux_sessions(db)):
            now, place = self._clock.now(), held[name]
            session = Session(
                id=SessionId(str(uuid4())),
                name=distinct(usable(name), TakenNames(db)),
                agent="shell",
                runtime=OBSERVED,
                computer=self.journal.computer,
                native_id=NativeId(f"tmux_{place.tmux_pane}"),
                tmux_session=name,
                tmux_pane=place.tmux_pane,
                owner="discovery",
                since=now,
                created_at=now,
                last_activity_at=now,
            )
            sessions.add(db, session)
            self.journal.append(db, SessionFound(session.id))

    async def run(self) -> None:
        """Start, end and clean up sessions as needed. Runs for ever."""
        await Reconciler(
            name="Starting and ending",
            clock=self._clock,
            pending=partial(self.database.read, sessions.needing_supervision),
            step=self._step,
            changed=partial(self.database.bells.of_kinds, CARED_FOR),
        ).run()

    async def finish(self, *, within: float) -> bool:
        """Wait until the panes of ended sessions are removed. False on timeout."""

        def is_done(db: Connection) -> bool:
            return not sessions.left_over(db)

        return await waiting.until(self.database, is_done, seconds=within, clock=self._clock)

    async def _step(self, session_id: SessionId) -> bool:
        """Take the next step for a session. False if there is nothing to do now."""
        session = await self.database.peek(lambda db: sessions.get(db, session_id))
        match session.status:
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
                place = await self._launch_in_time(session)
            except (CommitFailed, StoreLost):
                raise  # a full disk is no reason to fail an accepted start
            except _FINAL as error:
                await self._fail(session, f"it could not be started. {error}")
                return
            await self.database.write(lambda db: sessions.place(db, session.id, place))
            last = self._clock.now() + timedelta(seconds=limit)
            seconds = min(limit, MAX_SLOT_S)
            is_up = await self._wait_until_left(session.id, Status.STARTING, seconds=seconds)
        left = (last - self._clock.now()).total_seconds()
        if not is_up and not await self._wait_until_left(
            session.id, Status.STARTING, seconds=left
        ):
            said = tail(await self.runtime.terminal(session.id).read())
            shown = f"; its screen shows:\n{said}" if said else ""
            await self._fail(session, f"it did not come up within {limit:g} s{shown}")

    async def _launch_in_time(self, session: Session) -> Place:
        """Launch the program; retry while tmux cannot be reached, which proves nothing."""
        last = self._clock.now() + timedelta(seconds=self.deadlines.start)
        name = f"Starting and ending for session {session.id}"
        faults = SupervisedStep(name, self._clock, backoff=FAULT_BACKOFF_S)
        while True:
            try:
                return await self._launch(session)
            except RuntimeUnreachable:
                if self._clock.now() >= last:
                    raise
                await self._clock.sleep(RETRY_SECONDS)
            except (*_FINAL, sqlite3.Error):
                raise
            except Exception as error:  # a supervised boundary: an internal error fails in time
                if self._clock.now() >= last:
                    said = f"{type(error).__name__}: {error}. See: rookery logs"
                    raise RuntimeFailed(said) from error
                await faults.back_off(error)

    async def _is_starting(self, session: SessionId) -> bool:
        found = await self.database.peek(lambda db: sessions.get(db, session))
        return found.status is Status.STARTING

    async def _launch(self, session: Session) -> Place:
        """Run the program, or adopt it if it runs already: a crash may lie in between."""
        agent = self.agents[session.agent]
        held = (await self.runtime.find()).get(tmux_name(session.id))
        if held:
            await self.runtime.adopt(session.id, agent, held)
            return held

        def hold(db: Connection) -> tuple[Badge, dict[str, object]]:
            badge = tokens.give_badge(db, session.id, at=self._clock.now())
            sessions.hold(db, session.id)
            asked = sessions.launch_of(db, session.id)
            if agent.abilities.lists_tools and self._tools(asked):
                sessions.await_tools(db, session.id)
            return badge, asked

        if self.surroundings.restore_hooks:
            await self.surroundings.restore_hooks()
        badge, asked = await self.database.write(hold)
        return await self.runtime.start(self._make_launch(session, agent, asked, badge))

    def _make_launch(
        self, session: Session, agent: Agent, asked: Mapping[str, object], badge: Badge
    ) -> Launch:
        folder = self.surroundings.sessions / session.id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command, caller = asked["command"], asked["environment"]
        assert isinstance(command, list)  # noqa: S101 - Rookery wrote it
        assert isinstance(caller, dict)  # noqa: S101
        environment = self.surroundings.environment(agent.name, caller)
        line = agent.command_line(
            LaunchSpec(
                command=tuple(command),
                native_id=session.native_id or NativeId(""),
                model=session.model,
                permission_mode=session.permission_mode,
                hook=shlex.join([*self.surroundings.hook, agent.name]),
                folder=folder,
                door=self.surroundings.door,
                spool=self.surroundings.spool,
                tools=self._tools(asked),
                badge=badge,
                environment=environment,
                resumes=bool(asked.get("resumes")),
                forks=NativeId(str(asked.get("forks", ""))),
            )
        )
        for path, text in line.files.items():
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        ours = {"ROOKERY_SESSION": session.id, "ROOKERY_BADGE": badge}
        where = Path(session.project_path, session.subdir)
        added = {**environment, **line.environment, **ours}
        return Launch(session.id, agent, line.argv, added, where)

    def _tools(self, asked: Mapping[str, object]) -> tuple[str, ...]:
        """Return the command of the MCP server for a session; empty if it gets none."""
        return self.surroundings.tools if asked.get("tools", True) else ()

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
        """Save the last screen, and release what the runtime holds."""
        if not await self.database.read(lambda db: sessions.has_runtime(db, session.id)):
            return False
        await self._save_screen(session)
        await self.runtime.release(session.id)
        shutil.rmtree(self.surroundings.sessions / session.id, ignore_errors=True)
        await self.database.write(lambda db: sessions.let_go(db, session.id))
        return True

    async def _save_screen(self, session: Session) -> None:
        try:
            lines = await self.runtime.terminal(session.id).read(history=True)
        except RuntimeFailed:
            return  # there is no terminal any more
        file = self.surroundings.artifacts / f"{session.id}.txt"
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

        wait = partial(waiting.until, self.database, has_left, sessions=(session,))
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
        endings.end(db, self.journal, session, outcome="failed", reason=reason)

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _without_pane(ours: Sequence[Session], held: Mapping[str, Place]) -> dict[SessionId, Place]:
    """Return the sessions whose program runs though its pane is gone, as after a tmux crash."""
    known = (
        (each, Process.read(each.process))
        for each in ours
        if each.process and each.is_ours and each.tmux_session not in held
    )
    return {
        each.id: Place(each.tmux_session or "", "", process.pid)
        for each, process in known
        if is_running(process)
    }


def _sessions_to_adopt(db: Connection) -> list[Session]:
    """Return live sessions, and ended ones whose last screen is still to be saved."""
    return [
        each
        for each in (*sessions.live(db), *sessions.left_over(db))
        if _is_on_own_server(each)
    ]


def _is_on_own_server(session: Session) -> bool:
    """Return whether it is on Rookery's tmux server; discovery finds those on others."""
    return session.tmux_server is None
