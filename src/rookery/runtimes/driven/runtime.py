"""The runtime of driven sessions: passes commands to the driver host, and reads its events."""

from __future__ import annotations

import logging
import signal
from collections.abc import AsyncIterator, Mapping, Sequence

from rookery import supervise
from rookery.drivers import commands
from rookery.drivers.event_file import EventReader, path_of
from rookery.model.errors import NoTerminal, RuntimeFailed, RuntimeUnreachable, WordsRefused
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step
from rookery.model.permissions import Outcome, Verdict
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import (
    Blocked,
    Delivery,
    DeliveryLog,
    LeftInput,
    Refused,
    Submitted,
)
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
    Sighting,
    StartLost,
)
from rookery.ports.terminal import Terminal
from rookery.runtimes.driven.followed import Followed
from rookery.runtimes.driven.host_connection import HostConnection, HostGone, PromptNotPassed
from rookery.runtimes.driven.host_process import HostSite
from rookery.runtimes.driven.host_sessions import HostSessions
from rookery.runtimes.driven.launches import start_command
from rookery.runtimes.driven.sighting_queue import SightingQueue

_log = logging.getLogger(__name__)

#: The name of this runtime in handles.
NAME = "driven"

#: Seconds between two checks whether the driver host still runs.
CHECK_INTERVAL_SECONDS = 2.0

#: Consecutive lists of the host without a session after which the session is lost.
MAX_MISSES = 2

_SIGNALS = {StopMethod.TERMINATE: signal.SIGTERM, StopMethod.KILL: signal.SIGKILL}


class DrivenRuntime:
    """Holds the driven sessions of this home. See ``ports.runtime.Runtime``."""

    def __init__(
        self, site: HostSite, clock: Clock, silence_seconds: float = commands.SILENCE_SECONDS
    ) -> None:
        """``silence_seconds``: how long a turn may have no event before that is reported."""
        self.silence_seconds = silence_seconds
        self._site = site
        self._clock = clock
        self._followed: dict[SessionId, Followed] = {}
        self._restarted: set[SessionId] = set()  #: that the supervisor starts again
        self._sightings = SightingQueue()
        self._host = HostConnection(site, clock, grown=self._note_growth, lost=self._read_all)
        self.sessions = HostSessions(site.events, self._host)

    @property
    def trouble(self) -> str:
        """Why a running driver host does not answer; empty if it does."""
        return self._host.trouble

    def holds(self, session: SessionId) -> bool:
        return session in self._followed

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Return the session whose agent or command is one of these processes.

        The event files are read first: a command may call as soon as it has started. A key
        ``PID:``, without a start time, is an ended process whose terminal session has others.
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
        """Check regularly that the driver host has the sessions. Runs forever."""
        name = "Checking the driver host"
        try:
            await supervise.every(
                CHECK_INTERVAL_SECONDS, self._check, name=name, clock=self._clock
            )
        finally:
            await self._host.close()

    async def _check(self) -> None:
        """End or restart the sessions that the host no longer has.

        If the host does not answer, the sessions stay and the next check asks again.
        """
        live = [each for each in self._followed.values() if not each.is_over]
        if not (live or self._host.trouble):
            return
        try:
            running = (await self._host.ask(commands.List())).sessions
        except HostGone:
            for each in live:
                await self._go_on_without_host(each, "its driver host ended")
            return
        for each in live:
            self._read(each)  # what was written while there was no connection is not announced
            each.misses = 0 if each.session in running else each.misses + 1
            if each.misses >= MAX_MISSES:
                reason = "its driver host does not have it any more"
                await self._go_on_without_host(each, reason)

    async def _go_on_without_host(self, followed: Followed, reason: str) -> None:
        """Restart a session whose agent was not up yet; end any other as lost."""
        self._read(followed)
        if followed.is_up or followed.is_over or followed.is_restarted:
            self._lose(followed, reason)
            return
        _log.warning("Session %s is started again: %s.", followed.session, reason)
        followed.is_restarted = True
        followed.kill()
        if followed.start:
            await self._start(followed.start, instead_of=followed)
        elif self._followed.pop(followed.session, None):  # an earlier daemon has started it
            self._restarted.add(followed.session)
            self._sightings.add(StartLost(followed.session))

    def _lose(self, followed: Followed, reason: str) -> None:
        """End a session that is gone, unless its last event says how it ended."""
        self._read(followed)
        if not followed.is_over:
            followed.is_over = followed.is_lost = True
            self._sightings.add(Finished(followed.session, "failed", reason, lost=True))

    def watch(self) -> AsyncIterator[Sighting]:
        return self._sightings.watch()

    async def start(self, launch: Launch) -> HeldProgram:
        await self.sessions.end_left(launch.session)
        await self._start(start_command(launch, self.silence_seconds))
        return _held(launch.session)

    async def _start(
        self, start: commands.Start, *, instead_of: Followed | None = None
    ) -> None:
        await self._host.ask(start, may_start=True)
        session = SessionId(start.session)
        if instead_of and self._followed.get(session) is not instead_of:
            await self._host.ask(commands.Release(session))  # it was ended meanwhile
            return
        # The host may have begun a new file: it is read from its beginning.
        reader = EventReader(path_of(self._site.events, session))
        followed = Followed(session, reader, start.folder, start)
        followed.is_restarted = instead_of is not None or session in self._restarted
        self._followed[session] = followed
        self._read(followed)

    async def find(self) -> Mapping[str, HeldProgram]:
        """Return the sessions of the host, and those of which it left an event file."""
        return {program_name(each): _held(each) for each in await self.sessions.find()}

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        """Follow a session, even if the host does not answer whether it has it."""
        if isinstance(program, SurvivingProcess):
            raise RuntimeFailed("without its driver host, nothing can be done with it.")
        if program.runtime != NAME:
            raise RuntimeFailed(f"{program.text} is not a handle of {NAME!r}.")
        if program.reference != session or await self.sessions.is_gone(session):
            raise RuntimeFailed("the driver host does not have it.")
        self._follow(session)

    def _follow(self, session: SessionId) -> None:
        if session not in self._followed:
            reader = EventReader(path_of(self._site.events, session))
            self._followed[session] = Followed(session, reader)
        self._read(self._followed[session])

    def _note_growth(self, session: str) -> None:
        if followed := self._followed.get(SessionId(session)):
            self._read(followed)

    def _read_all(self) -> None:
        for each in self._followed.values():
            self._read(each)

    def _read(self, followed: Followed) -> None:
        """Report the new events of a session."""
        try:
            entries = followed.events.read()
        except OSError as error:
            _log.warning("The events of %s cannot be read: %s", followed.session, error)
            return
        sightings = followed.take(entries)
        settled = {each.request for each in sightings if isinstance(each, AgentStoppedAsking)}
        for each in sightings:
            if not (isinstance(each, AgentAsked) and each.request in settled):
                self._sightings.add(each)

    async def release(self, session: SessionId) -> None:
        if followed := self._followed.get(session):
            try:
                await self._host.ask(commands.Release(session))
            except HostGone:
                followed.is_lost = True
            if followed.is_lost:  # another host knows nothing of what that one has left
                followed.kill()
            self._followed.pop(session, None)
        path_of(self._site.events, session).unlink(missing_ok=True)

    async def retire(self) -> None:
        """Ask the host to exit if it has no sessions."""
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
        """Send a message to the host, which passes each receipt to the agent only once."""
        self._require(parcel.recipient)
        if not await log.may_submit():
            if is_new:
                await log.note_untyped()  # it may be withdrawn meanwhile
            return Blocked()
        if parcel.step is Step.SENDING:
            await log.note_typed()
        at = self._clock.now()
        prompt = commands.AgentPrompt(parcel.recipient, parcel.receipt, parcel.words)
        try:
            await self._host.ask(prompt)
        except PromptNotPassed as refused:
            if refused.is_final:
                return Refused(refused.reason)
            await log.note_untyped()
            raise
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
            return
        try:
            await self._host.ask(commands.Kill(session, _SIGNALS[method]))
        except RuntimeUnreachable:
            if method is StopMethod.KILL:  # also if the host does not answer
                self._followed[session].kill()
            raise

    def terminal(self, session: SessionId) -> Terminal:
        self._require(session)
        raise NoTerminal("its agent is driven through a protocol, without one.")

    def _require(self, session: SessionId) -> None:
        if session not in self._followed:
            raise RuntimeFailed(f"no driven program is known for {session}.")


def _held(session: SessionId) -> HeldProgram:
    return HeldProgram(RuntimeHandle(NAME, session))
