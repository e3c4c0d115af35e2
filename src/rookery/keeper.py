"""Brings sessions up, and lays them to rest: what the rows ask for is done to the runtime."""

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

from rookery import endings
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
from rookery.store import sessions, tokens, waits
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.sessions import TakenNames
from rookery.supervise import Reconciler, SupervisedStep

_log = logging.getLogger(__name__)

#: Seconds after SIGKILL for a program to be gone; the system may be busy writing for it.
LAST_WAIT = 5.0

#: Seconds before something that the runtime could not do is tried again.
PAUSE = 1.0

#: The same after an error that nothing in here expects: the first time, and at most.
FAULT_BACKOFF_S = (0.5, 5.0)

#: How often it is tried to see what lived on, before the daemon gives up coming up.
LOOKS = 10

#: What makes a session one that is to be started, ended or cleared away.
CARED_FOR: frozenset[type[Fact]] = frozenset({SessionRequested, EndRequested, SessionEnded})

#: Errors after which another attempt to start a program would fail in the same way.
_FINAL = (RookeryError, OSError, ValueError)

#: Programs that start at the same time: hundreds at once would all miss their deadlines.
MAX_STARTS = 16

#: Seconds after which a program that does not come up no longer keeps others from starting.
MAX_SLOT_S = 10.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds for an agent to come up, to leave by itself, and to obey SIGTERM."""

    start: float
    quit: float
    terminate: float


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What every program that we start needs to know of us."""

    #: Makes its environment of what the caller's was, for an agent.
    environment: Callable[[str, Mapping[str, str]], Mapping[str, str]]
    hook: tuple[str, ...]  #: the hook program and its arguments, without the agent's name
    sessions: Path  #: a folder for each session's files
    artifacts: Path  #: what stays of a session
    door: Path = Path()  #: where the hook program tells of hooks
    spool: Path = Path()  #: and where it leaves them if nobody listens
    tools: tuple[str, ...] = ()  #: how our tools for agents are run
    #: Lays the hook program again if it was damaged; run before each start.
    restore_hooks: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Keeper:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    deadlines: Deadlines
    surroundings: LaunchContext
    #: So many programs start at the same time; the others wait for their turn.
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_STARTS))

    async def recover(self) -> None:
        """Find again what lived on while the daemon was away, and end what did not."""
        known = await self.database.read(sessions.live)
        ours = [each for each in known if each.has_terminal and _is_here(each)]
        held = await self._find(ours)
        cut_off = _without_pane(ours, held)
        await self.database.write(lambda db: self._take_stock(db, ours, held, cut_off))
        await self.database.write(lambda db: self._meet_strangers(db, held))
        for session in await self.database.read(_of_interest):
            if place := held.get(session.tmux_session or "") or cut_off.get(session.id):
                with suppress(RuntimeFailed):  # it goes in this very moment; that will be seen
                    await self.runtime.adopt(session.id, self.agents[session.agent], place)

    async def _find(self, ours: Sequence[Session]) -> Mapping[str, Place]:
        held = await self._look()
        if any(each.tmux_session not in held for each in ours):
            # A look that came too early is no death: it takes two.
            await self._clock.sleep(PAUSE)
            held = {**held, **await self._look()}
        return held

    async def _look(self) -> Mapping[str, Place]:
        """See what is held. A look that fails says nothing, and is taken again."""
        for _ in range(LOOKS - 1):
            try:
                return await self.runtime.find()
            except RuntimeFailed as error:
                _log.warning("What tmux holds cannot be seen yet: %s", error)
                await self._clock.sleep(PAUSE)
        return await self.runtime.find()

    def _take_stock(
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
            elif session.status is not Status.STARTING:  # that one is still to be started
                self._end(db, session.id, "lost while the daemon was away")

    def _meet_strangers(self, db: Connection, held: Mapping[str, Place]) -> None:
        """Make a row for what runs on our server and has none; it is watched, never ended."""
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

    async def tend(self) -> None:
        """Care for the sessions that are to be started, ended or cleared away."""
        await Reconciler(
            name="Starting and ending",
            clock=self._clock,
            pending=partial(self.database.read, sessions.in_care),
            step=self._take_a_step,
            changed=partial(self.database.bells.of_kinds, CARED_FOR),
        ).run()

    async def finish(self, *, within: float) -> bool:
        """Wait until the panes of ended sessions are cleared away. False if time runs out."""

        def is_done(db: Connection) -> bool:
            return not sessions.left_over(db)

        return await waits.until(self.database, is_done, seconds=within, clock=self._clock)

    async def _take_a_step(self, session_id: SessionId) -> bool:
        """Do the next thing for a session. False if there is nothing to do now."""
        session = await self.database.peek(lambda db: sessions.get(db, session_id))
        match session.status:
            case Status.STARTING:
                await self._bring_up(session)
            case Status.CLOSING:
                await self._close(session)
            case status if status.is_over:
                return await self._clear_away(session)
            case _:
                return False
        return True

    async def _bring_up(self, session: Session) -> None:
        """Start its program, if that was not done before, and see it come up in time."""
        limit = self.deadlines.start
        async with self.slots:
            if not await self._is_starting(session.id):
                return  # it was ended while it waited for its turn
            try:
                place = await self._launch_in_time(session)
            except (CommitFailed, StoreLost):
                raise  # a full disk is no reason to give up what was accepted
            except _FINAL as error:
                await self._fail(session, f"it could not be started. {error}")
                return
            await self.database.write(lambda db: sessions.place(db, session.id, place))
            last = self._clock.now() + timedelta(seconds=limit)
            seconds = min(limit, MAX_SLOT_S)
            is_up = await self._leaves(session.id, Status.STARTING, seconds=seconds)
        left = (last - self._clock.now()).total_seconds()
        if not is_up and not await self._leaves(session.id, Status.STARTING, seconds=left):
            said = tail(await self.runtime.terminal(session.id).read())
            shown = f"; its screen shows:\n{said}" if said else ""
            await self._fail(session, f"it did not come up within {limit:g} s{shown}")

    async def _launch_in_time(self, session: Session) -> Place:
        """Launch its program; while tmux cannot be reached, look again: that proves nothing."""
        last = self._clock.now() + timedelta(seconds=self.deadlines.start)
        name = f"Starting and ending for session {session.id}"
        faults = SupervisedStep(name, self._clock, backoff=FAULT_BACKOFF_S)
        while True:
            try:
                return await self._launch(session)
            except RuntimeUnreachable:
                if self._clock.now() >= last:
                    raise
                await self._clock.sleep(PAUSE)
            except (*_FINAL, sqlite3.Error):
                raise
            except Exception as error:  # a supervised boundary: a fault of ours ends in time
                if self._clock.now() >= last:
                    said = f"{type(error).__name__}: {error}. See: rookery logs"
                    raise RuntimeFailed(said) from error
                await faults.back_off(error)

    async def _is_starting(self, session: SessionId) -> bool:
        found = await self.database.peek(lambda db: sessions.get(db, session))
        return found.status is Status.STARTING

    async def _launch(self, session: Session) -> Place:
        """Run its program, or find it running: a crash may lie between the two."""
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
        return await self.runtime.start(self._order(session, agent, asked, badge))

    def _order(
        self, session: Session, agent: Agent, asked: Mapping[str, object], badge: Badge
    ) -> Launch:
        folder = self.surroundings.sessions / session.id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        command, caller = asked["command"], asked["environment"]
        assert isinstance(command, list)  # noqa: S101 - we wrote it
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
        """Return how our tools are run for a session; nothing if it is to get none."""
        return self.surroundings.tools if asked.get("tools", True) else ()

    async def _close(self, session: Session) -> None:
        """Have a session end: asked in its own way, then told, then made."""
        is_held = await self.database.read(lambda db: sessions.is_held(db, session.id))
        if session.is_ours and not is_held:
            await self._conclude(session)  # it was never started
            return
        for method, seconds in (
            (StopMethod.ASK, self.deadlines.quit),
            (StopMethod.TERMINATE, self.deadlines.terminate),
            (StopMethod.KILL, LAST_WAIT),
        ):
            try:
                await self.runtime.stop(session.id, method)
            except (Occupied, RuntimeFailed):
                continue
            if await self._leaves(session.id, Status.CLOSING, seconds=seconds):
                return
        await self._conclude(session)

    async def _clear_away(self, session: Session) -> bool:
        """Keep what was on its screen, and let go of what held it."""
        if not await self.database.read(lambda db: sessions.is_held(db, session.id)):
            return False
        await self._keep_the_screen(session)
        await self.runtime.release(session.id)
        shutil.rmtree(self.surroundings.sessions / session.id, ignore_errors=True)
        await self.database.write(lambda db: sessions.let_go(db, session.id))
        return True

    async def _keep_the_screen(self, session: Session) -> None:
        try:
            lines = await self.runtime.terminal(session.id).read(history=True)
        except RuntimeFailed:
            return  # there is none any more
        file = self.surroundings.artifacts / f"{session.id}.txt"
        text = "\n".join(line.rstrip() for line in lines).rstrip() + "\n"
        try:
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:  # a full disk: then it is lost, but nothing else is
            _log.warning("The last screen of %s is not kept: %s", session.name, error)

    async def _leaves(self, session: SessionId, status: Status, *, seconds: float) -> bool:
        def has_left(db: Connection) -> bool:
            return sessions.get(db, session).status is not status

        wait = partial(waits.until, self.database, has_left, sessions=(session,))
        return await wait(seconds=seconds, clock=self._clock)

    async def _fail(self, session: Session, reason: str) -> None:
        def fail(db: Connection) -> None:
            # It may have come up in the very last moment.
            if sessions.get(db, session.id).status is Status.STARTING:
                self._end(db, session.id, reason)

        await self.database.write(fail)

    async def _conclude(self, session: Session) -> None:
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


def _of_interest(db: Connection) -> list[Session]:
    """Return the living, and the dead whose last screen is still to be kept."""
    return [each for each in (*sessions.live(db), *sessions.left_over(db)) if _is_here(each)]


def _is_here(session: Session) -> bool:
    """Whether it is on our own tmux server; whoever is on another, discovery finds again."""
    return session.tmux_server is None
