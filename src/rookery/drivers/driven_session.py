"""One driven session in the driver host: what all protocols have in common."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from msgspec.structs import replace

from rookery.drivers.agent_processes import AgentProcesses
from rookery.drivers.bounded_events import bounded_event
from rookery.drivers.commands import AgentAnswer, AgentPrompt, Start
from rookery.drivers.driver import (
    AnswerLost,
    Driver,
    DriverError,
    DriverLaunch,
    MakeDriver,
    PromptRefused,
)
from rookery.drivers.event_file import EventWriter
from rookery.drivers.event_store import EventStore
from rookery.drivers.events import (
    Asked,
    AskingEnded,
    Ended,
    Event,
    FellSilent,
    FileChanged,
    ProcessesNoted,
    ProcessStarted,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Up,
    Used,
)
from rookery.drivers.session_ends import after_error, after_only_turn, over_budget
from rookery.drivers.task_set import TaskSet
from rookery.processes import Process
from rookery.supervise import outcome_of

_log = logging.getLogger(__name__)

#: Seconds for an agent to end by itself after it was closed, before it is killed.
CLOSE_SECONDS = 5.0

#: Seconds between two checks whether the agent's process was started.
PROCESS_CHECK_SECONDS = 0.05


class DrivenSession:
    """Runs a driver, stores its events, and passes prompts and answers to it once each."""

    def __init__(self, start: Start, events: EventWriter, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever events were stored."""
        self.start = start
        self.driver: Driver | None = None
        self._events = EventStore(events, changed=changed, full=self._fail_unstored)
        self._keys: set[str] = set()
        self._open: dict[str, asyncio.Future[AgentAnswer]] = {}
        self._asked = 0  #: how often the agent has asked
        self._tools: set[str] = set()
        self._shown_files: dict[str, list[str]] = {}  #: by call; not yet known to be changed
        self._is_up = self._is_in_turn = self._is_over = False
        self._spent = 0
        self._process: int | None = None  #: the agent's pid, once it is reported
        self._processes = AgentProcesses(self._report_processes)
        self._ending: Ended | None = None  #: the end that the host decided on, if it did
        self._running: asyncio.Future[Ended] | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._tasks = TaskSet()

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def is_stored(self) -> bool:
        """Return whether its event file has all of its events."""
        return not self._events.problem

    def restore_events(self) -> None:
        """Write the event file again if it was deleted. See ``EventWriter.restore``."""
        self._events.restore()

    def release(self) -> None:
        """Close the event file; later events are not stored."""
        self._events.close()

    async def run(self, find_driver: Callable[[], MakeDriver]) -> None:
        """Drive the agent until it ends; whatever happens, ``Ended`` is reported once."""
        try:
            outcome = await outcome_of(self._drive(find_driver))
        except asyncio.CancelledError:
            ended = Ended("failed", "it was stopped by force")
        else:
            ended = outcome if isinstance(outcome, Ended) else after_error(outcome, self.start)
        for future in self._open.values():
            future.cancel()
        self._processes.stop_watching()
        self._is_over = True
        self.report(self._ending or ended)
        self._set_silence_timer()
        await self.end_processes(SIGKILL)

    async def _drive(self, find_driver: Callable[[], MakeDriver]) -> Ended:
        self.driver = find_driver()(self._launch, self)
        self._running = asyncio.ensure_future(self.driver.run())
        self._watch_start()
        return await self._running

    def _watch_start(self) -> None:
        """Store the agent's process before it reports anything, so that it can be ended."""
        self._note_process()
        if self._process is None and not self._is_over:
            asyncio.get_running_loop().call_later(PROCESS_CHECK_SECONDS, self._watch_start)

    def _note_process(self) -> None:
        """Store the agent's process, once it is known."""
        if self._process is None and self.driver and (pid := self.driver.pid):
            self._process = pid
            process = Process.of(pid)
            self._events.append(ProcessStarted(pid, process.key if process else ""))

    @property
    def _launch(self) -> DriverLaunch:
        start = self.start
        return DriverLaunch(
            start.session, start.argv, start.environment, Path(start.folder), start.options
        )

    def report(self, *events: Event) -> None:
        """Store events, and act on them."""
        if not events:
            return
        self._note_process()
        noted = [self._note(bounded_event(event)) for event in events]
        if not isinstance(events[-1], FellSilent):
            self._set_silence_timer()
        self._events.append(*noted)

    def _note(self, event: Event) -> Event:  # noqa: C901 - a table
        """Apply an event to the state; return it with what only the host knows."""
        match event:
            case TextAdded():  # the most frequent one
                pass
            case Up():
                self._is_up = True
            case PromptTaken():
                self._is_in_turn = True
            case ToolBegan(call_id):
                self._tools.add(call_id)
                self._processes.watch(self._find_pid, lambda: bool(self._tools))
            case FileChanged(path, call_id=call_id) if call_id in self._tools:
                # It may be shown before it is allowed.
                self._shown_files.setdefault(call_id, []).append(path)
            case FileChanged():
                return replace(event, is_made=True)
            case ToolEnded(call_id, failed=failed):
                self._tools.discard(call_id)
                paths = self._shown_files.pop(call_id, [])
                return replace(event, files=tuple(paths)) if paths and not failed else event
            case Used(cost=int(cost)) if cost > 0:  # a negative cost restores no budget
                self._spend(cost)
            case TurnOver():
                self._is_in_turn = False
                self._tools.clear()
                self._shown_files.clear()
                self._end_after_turn(event)
                if self._ending and self._ending.outcome == "failed":
                    return replace(event, fails_session=True)
            case _:
                pass
        return event

    def _set_silence_timer(self) -> None:
        if self._silence:
            self._silence.cancel()
            self._silence = None
        if self._is_in_turn and not (self._tools or self._open or self._is_over):
            loop = asyncio.get_running_loop()
            seconds = self.start.silence_seconds
            self._silence = loop.call_later(seconds, self.report, FellSilent(seconds))

    def _spend(self, cost: int) -> None:
        """End the session once it has used its budget up."""
        self._spent += cost
        budget = self.start.budget
        if budget is not None and self._spent >= budget and self._ending is None:
            self._ending = over_budget(self._spent, budget)
            self._tasks.begin(self._abort())

    def _fail_unstored(self, problem: str) -> None:
        """End the session: more events wait for a writable file than can be kept."""
        if self._ending is None:
            self._ending = Ended("failed", f"what it did could not be stored: {problem}")
        self._tasks.begin(self.close())

    def _end_after_turn(self, turn: TurnOver) -> None:
        if self.start.is_single_turn and self._ending is None:
            self._ending = after_only_turn(turn)
            self._tasks.begin(self.close())

    async def _abort(self) -> None:
        if self.driver and self._is_in_turn:
            with suppress(DriverError):
                await self.driver.interrupt()
        await self.close()

    async def prompt(self, prompt: AgentPrompt) -> None:
        """Send a prompt to the agent, unless it was sent before; return once that is stored."""
        if prompt.key not in self._keys:
            await self._pass_on(prompt)
        await self._events.until_stored()

    async def _pass_on(self, prompt: AgentPrompt) -> None:
        """Send a new prompt to the agent. Raises ``PromptRefused`` if it did not get it."""
        try:
            driver = self._ready_for_prompt()
            self._keys.add(prompt.key)
            await driver.prompt(prompt.text)
        except AnswerLost as error:
            # It is not sent again: what the agent does shows whether it got it.
            _log.warning("Session %s may not have its prompt: %s", self.start.session, error)
        except DriverError as error:
            self._keys.discard(prompt.key)
            is_final = self._is_over or self._ending is not None
            raise PromptRefused(str(error), is_final=is_final) from error

    def _ready_for_prompt(self) -> Driver:
        if self._ending:  # the agent is being closed, and would lose it
            raise DriverError(f"the session ends: {self._ending.reason}.")
        if problem := self._events.problem:
            raise DriverError(f"what its agent does cannot be stored: {problem}.")
        return self._ready()

    async def ask(self, asked: Asked) -> AgentAnswer:
        """Report that the agent asks something, and wait for the answer."""
        future: asyncio.Future[AgentAnswer] = asyncio.get_running_loop().create_future()
        # An agent may use the same id again, and must not get the answer of an earlier call.
        self._asked += 1
        asked = replace(asked, request=f"{self._asked}-{asked.request}")
        self._open[asked.request] = future
        try:
            self.report(asked)
            return await future
        finally:
            if self._open.pop(asked.request, None) is not None:
                self.report(AskingEnded(asked.request))

    def answer(self, answer: AgentAnswer) -> None:
        """Give an answer; without effect if the agent does not wait for it."""
        future = self._open.get(answer.request)
        if future and not future.done():
            future.set_result(answer)

    async def interrupt(self) -> None:
        await self._ready().interrupt()

    async def close(self) -> None:
        """End the agent in its own way, then by a signal."""
        if self.driver is None or self._is_over:
            return
        self._processes.begin_to_end(self._find_pid())
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.driver.close()
        except (TimeoutError, DriverError):
            await self.end_processes(SIGKILL)

    async def end_processes(self, signal: int) -> None:
        """Send a signal to the agent and to every process that it has started."""
        pid = self._find_pid()
        self._processes.begin_to_end(pid)
        if pid is None and signal == SIGKILL and self._running:
            self._running.cancel()
        self._processes.signal(signal)

    def _find_pid(self) -> int | None:
        return self.driver.pid if self.driver else None

    def _report_processes(self, processes: Iterable[Process]) -> None:
        """Store what the agent runs, for the case that this host is killed."""
        if not self._is_over:
            self._events.append(ProcessesNoted(tuple(each.key for each in processes)))

    def _ready(self) -> Driver:
        if self.driver is None or not self._is_up:
            raise DriverError("the agent is not up yet.")
        if self._is_over:
            raise DriverError("the session has ended.")
        return self.driver
