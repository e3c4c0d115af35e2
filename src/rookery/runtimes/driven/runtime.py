"""The runtime of driven sessions: passes commands to the driver host, and reads its events."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rookery import supervise
from rookery.drivers import commands
from rookery.drivers.event_file import SUFFIX, EventReader, path_of
from rookery.drivers.events import CommandStarted
from rookery.model.errors import NoTerminal, RuntimeFailed, RuntimeUnreachable, WordsRefused
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Blocked, Delivery, DeliveryLog, LeftInput, Submitted
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import (
    AgentAsked,
    AgentStoppedAsking,
    Finished,
    Reported,
    ReportedTogether,
    Sighting,
    TextsReported,
)
from rookery.ports.terminal import Terminal
from rookery.processes import Process, descendants, send_signal, signal_sessions
from rookery.runtimes.driven.host_connection import HostConnection
from rookery.runtimes.driven.host_process import HostSite
from rookery.runtimes.driven.reports import read_entries

_log = logging.getLogger(__name__)

#: The name of this runtime in handles.
NAME = "driven"

#: Seconds between two checks whether the driver host still runs.
CHECK_INTERVAL_SECONDS = 2.0

#: Reports that are recorded in one transaction, which others wait for.
MAX_REPORTS = 200

_SIGNALS = {StopMethod.TERMINATE: signal.SIGTERM, StopMethod.KILL: signal.SIGKILL}


@dataclass(slots=True)
class _Followed:
    """A session whose event file is read."""

    session: SessionId
    events: EventReader
    folder: str = ""
    is_over: bool = False
    process: str | None = None  #: the agent's process, once it was reported
    #: The processes of the commands that the host runs for it: they are not below the agent's.
    commands: set[str] = field(default_factory=set)


class DrivenRuntime:
    """Holds the driven sessions of this home. See ``ports.runtime.Runtime``."""

    def __init__(
        self,
        site: HostSite,
        clock: Clock,
        *,
        silence_seconds: float = commands.SILENCE_SECONDS,
    ) -> None:
        """``silence_seconds``: without an event in a turn, until that is reported."""
        self.silence_seconds = silence_seconds
        self._site = site
        self._clock = clock
        self._followed: dict[SessionId, _Followed] = {}
        self._sightings: deque[Sighting] = deque()
        self._is_seen = asyncio.Event()  #: there are sightings
        self._host = HostConnection(site, clock, grown=self._note_growth, lost=self._read_all)

    def holds(self, session: SessionId) -> bool:
        return session in self._followed

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose agent or command is one of these processes.

        The event files are read first: a command may ask at once. ``PID:`` is a process that
        has ended, and leads the terminal session of what it has left.
        """
        self._read_all()
        for key in lineage:
            for each in self._followed.values():
                processes = {*each.commands, each.process}
                is_left = key.endswith(":") and any(
                    command.startswith(key) for command in each.commands
                )
                if key in processes or is_left:
                    return each.session
        return None

    async def keep(self) -> None:
        """Notice that the driver host is gone, and with it the sessions. Runs for ever."""
        name = "Looking at the driver host"
        try:
            await supervise.every(
                CHECK_INTERVAL_SECONDS, self._check, name=name, clock=self._clock
            )
        finally:
            await self._host.close()

    async def _check(self) -> None:
        """End the sessions that the host does not have any more."""
        live = [each for each in self._followed.values() if not each.is_over]
        if not live:
            return
        try:
            running = (await self._host.ask(commands.List())).sessions
        except RuntimeUnreachable:
            running = ()
        for each in live:
            self._read(each)
            if each.session not in running and not each.is_over:
                each.is_over = True
                reason = "its driver host ended"
                self._see(Finished(each.session, "failed", reason, lost=True))

    def _see(self, sighting: Sighting) -> None:
        self._sightings.append(sighting)
        self._is_seen.set()

    async def watch(self) -> AsyncIterator[Sighting]:
        """Yield sightings; reports that came while the caller was busy are yielded as one."""
        while True:
            await self._is_seen.wait()
            reports: list[Reported | TextsReported] = []
            while self._sightings and len(reports) < MAX_REPORTS:
                if not isinstance(first := self._sightings[0], Reported | TextsReported):
                    break
                reports.append(first)
                self._sightings.popleft()
            if reports:
                yield ReportedTogether(tuple(reports))
            elif self._sightings:
                yield self._sightings.popleft()
            else:
                self._is_seen.clear()

    async def start(self, launch: Launch) -> HeldProgram:
        driver = launch.driver
        if driver is None:
            raise RuntimeFailed("no driver is named for this session.")
        command = commands.Start(
            session=launch.session,
            driver=driver.driver,
            argv=launch.argv,
            environment=launch.environment,
            folder=str(launch.folder),
            options=driver.options,
            is_single_turn=driver.is_single_turn,
            budget=driver.budget,
            silence_seconds=self.silence_seconds,
        )
        await self._host.ask(command, may_start=True)
        self._follow(launch.session, str(launch.folder))
        return _held(launch.session)

    async def find(self) -> Mapping[str, HeldProgram]:
        """Return the sessions of the host, and those of which it left an event file."""
        running: tuple[str, ...] = ()
        with suppress(RuntimeUnreachable):  # it holds none; what it wrote is still read
            running = (await self._host.ask(commands.List())).sessions
        left = [each.stem for each in self._site.events.glob(f"*{SUFFIX}")]
        found = {SessionId(each) for each in (*running, *left)}
        return {program_name(each): _held(each) for each in found}

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        if isinstance(program, SurvivingProcess):
            raise RuntimeFailed("without its driver host, nothing can be done with it.")
        if program.runtime != NAME:
            raise RuntimeFailed(f"{program.text} is not a handle of {NAME!r}.")
        if program_name(session) not in await self.find():
            raise RuntimeFailed("the driver host has gone with it.")
        self._follow(session, "")
        await self._check()

    def _follow(self, session: SessionId, folder: str) -> None:
        if session not in self._followed:
            reader = EventReader(path_of(self._site.events, session))
            self._followed[session] = _Followed(session, reader, folder)
        self._read(self._followed[session])

    def _note_growth(self, session: str) -> None:
        if followed := self._followed.get(SessionId(session)):
            self._read(followed)

    def _read_all(self) -> None:
        for each in self._followed.values():
            self._read(each)

    def _read(self, followed: _Followed) -> None:
        """Report the new events of a session."""
        try:
            entries = followed.events.read()
        except OSError as error:
            _log.warning("The events of %s cannot be read: %s", followed.session, error)
            return
        followed.commands.update(
            each.event.process for each in entries if isinstance(each.event, CommandStarted)
        )
        sightings = [*read_entries(entries, followed.session, folder=followed.folder)]
        settled = {each.request for each in sightings if isinstance(each, AgentStoppedAsking)}
        for each in sightings:
            followed.is_over = followed.is_over or isinstance(each, Finished)
            if isinstance(each, Reported) and each.process:
                followed.process = each.process
            if not (isinstance(each, AgentAsked) and each.request in settled):
                self._see(each)

    async def release(self, session: SessionId) -> None:
        if followed := self._followed.pop(session, None):
            try:
                await self._host.ask(commands.Release(session))
            except RuntimeUnreachable:
                # The host is gone; not every agent ends when its input is closed.
                _kill(followed.process)
                signal_sessions([*map(Process.read, followed.commands)], signal.SIGKILL)
        path_of(self._site.events, session).unlink(missing_ok=True)

    async def retire(self) -> None:
        """End the host if it has no sessions."""
        try:
            await self._host.ask(commands.Retire())
        except RuntimeFailed:
            return  # it does not run, or does not answer: it ends by itself

    def check(self, session: SessionId, words: str) -> None:
        """Accept any text: a protocol passes it on unchanged."""
        self._require(session)
        if not words:
            raise WordsRefused("it is empty.")

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Pass a message on. The host passes each receipt on once, however often it is sent."""
        self._require(parcel.recipient)
        if not await log.may_submit():
            return Blocked()
        if parcel.step is Step.SENDING:
            await log.note_typed()
        at = self._clock.now()
        prompt = commands.AgentPrompt(parcel.recipient, parcel.receipt, parcel.words)
        await self._host.ask(prompt)
        return LeftInput() if parcel.step is Step.SUBMITTED else Submitted(at)

    async def answer(self, session: SessionId, request: str, verdict: Verdict) -> None:
        allow = verdict.outcome in {Outcome.ALLOWED, Outcome.ANSWERED}
        answers = {text: tuple(each) for text, each in verdict.answers.items()}
        await self._host.ask(
            commands.AgentAnswer(session, request, allow, verdict.reason, answers)
        )

    async def interrupt(self, session: SessionId) -> None:
        self._require(session)
        await self._host.ask(commands.Interrupt(session))

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        self._require(session)
        if method is StopMethod.ASK:
            await self._host.ask(commands.Close(session))
        else:
            await self._host.ask(commands.Kill(session, _SIGNALS[method]))

    def terminal(self, session: SessionId) -> Terminal:
        self._require(session)
        raise NoTerminal("its agent is driven through a protocol, without one.")

    def _require(self, session: SessionId) -> None:
        if session not in self._followed:
            raise RuntimeFailed(f"no driven program is known for {session}.")


def _kill(process: str | None) -> None:
    """Kill a program and all that it started, if it still runs."""
    if process:
        program = Process.read(process)
        send_signal(program, descendants(program.pid), signal.SIGKILL)


def _held(session: SessionId) -> HeldProgram:
    return HeldProgram(RuntimeHandle(NAME, session))
