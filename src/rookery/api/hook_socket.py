"""Serve hook calls on a plain socket: one call per connection, answered once committed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from sqlite3 import DatabaseError

from rookery import supervise
from rookery.api.hook_line import LARGEST, USUAL, HeldBytes, HookLine
from rookery.api.spool import Lane, Spool, lane_of
from rookery.api.spooled_calls import POISON, read_spooled, take_in, visible
from rookery.hook_protocol import Hook, events_in, read_body
from rookery.model.errors import HookUnreadable, RookeryError, StoreLocked
from rookery.model.permissions import RequestId, Verdict
from rookery.permissions.decisions import Ask, Pass, Ruling, WaitForAnswer
from rookery.permissions.offline_answers import OfflineAnswers, situation
from rookery.permissions.stop_policy import KeepWorking
from rookery.ports.clock import Clock
from rookery.programs.hook import DECIDED, TAKEN, WAIT
from rookery.tracking.intake import Intake, PromptNote

_log = logging.getLogger(__name__)

#: Errors of the daemon, the disk or the caller: the call may be retried.
RETRYABLE_ERRORS = (RookeryError, OSError, DatabaseError)

#: Seconds between two checks for calls that could not reach the daemon.
SPOOL_INTERVAL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A live call that could not be read, with the answer for its agent."""

    said: str


@dataclass(slots=True)
class HookSocket:
    intake: Intake
    path: Path
    spool: Path
    clock: Clock
    offline_answers: OfflineAnswers
    #: Limit the calls in progress; large ones more, since each takes much memory.
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(64))
    large_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    held: HeldBytes = field(default_factory=HeldBytes)
    _spool: Spool = field(init=False)
    _is_open: bool = field(default=False, init=False)
    _server: asyncio.Server | None = field(default=None, init=False)
    _answering: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._spool = Spool(self.spool, self._take_in_spooled, self._park_unread)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen while the context is open. ``drain`` takes in the calls in the spool."""
        with suppress(OSError):
            self.spool.mkdir(mode=0o700, exist_ok=True)
        self._is_open = True
        try:
            await self.listen()
            yield
        finally:
            self._is_open = False
            self._close()
            self.path.unlink(missing_ok=True)

    async def listen(self) -> None:
        """Bind the socket. Connections of an earlier socket, whose file is gone, stay open."""
        if not self._is_open:
            return  # the daemon stops, and its file is gone for that reason
        self._close()
        self.path.unlink(missing_ok=True)
        # Stored before anything is awaited: a server that nothing closes would stay behind.
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: HookLine(self._begin, _log_refusal, self.held),
            self.path,
            backlog=512,
            start_serving=False,
        )
        self.path.chmod(0o600)
        await self._server.start_serving()

    def _close(self) -> None:
        if self._server:
            self._server.close()

    async def keep_draining(self) -> None:
        """Take in spooled calls, for ever."""
        name = "Reading spooled hook calls"
        await supervise.every(SPOOL_INTERVAL_SECONDS, self.drain, name=name, clock=self.clock)

    async def drain(self) -> None:
        """Take in, in their order, the calls that could not reach the daemon."""
        try:
            await self._spool.drain()
        except StoreLocked as error:
            _log.warning("Spooled hook calls were not recorded; they stay. %s", error)
        except RETRYABLE_ERRORS:
            _log.exception("Spooled hook calls were not recorded; they stay.")

    async def _clear(self, lane: Lane) -> None:
        """Take in the spooled calls of a lane.

        If the store raises an error, so does this: the live call is not answered, and its hook
        program spools it after the others.
        """
        try:
            await self._spool.clear(lane)
        except OSError:
            # The hook program cannot write to such a spool either: the live call would be lost.
            _log.exception("Spooled hook calls were not recorded; they stay.")

    def _begin(self, line: HookLine) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(line))
        self._answering.add(task)  # the loop keeps only a weak reference
        task.add_done_callback(self._answering.discard)

    async def _answer(self, line: HookLine) -> None:
        try:
            is_large = len(line.body) > USUAL
            async with self.large_at_once if is_large else self.at_once:
                # Spooled calls of the same lane came before this one.
                if self._spool.may_be_ahead:
                    await self._clear(lane_of(line.head))
                body = line.take_body()
                if line.has_given_up:
                    # The hook program spools the call and gives its agent the stored offline
                    # answer: a decision made now would not reach the agent.
                    await self._take_in_spooled([line.first + body])
                    return
                hook, ruling = await self._take_in(line, body)
            if hook and isinstance(ruling, WaitForAnswer):
                with self.intake.permissions.waits.waiting(ruling.request):
                    await self._wait(line, hook, ruling.request)
            else:
                line.write(TAKEN + self._said(hook, ruling))
        except RETRYABLE_ERRORS as error:
            # Not answered: the hook program spools the call, or asks again.
            _log_refusal(error)
        finally:
            line.close()

    def _said(
        self, hook: Hook | None, ruling: Ruling | KeepWorking | PromptNote | _Unreadable
    ) -> bytes:
        """Return the decision in the agent's format; empty if there is none."""
        if isinstance(ruling, _Unreadable):
            return ruling.said.encode()
        if hook is None or isinstance(ruling, Pass):
            return b""
        if isinstance(ruling, Ask):
            return self._say(hook, None)
        if isinstance(ruling, KeepWorking):
            return self.intake.dialect(hook).go_on(hook.payload, ruling.reason).encode()
        if isinstance(ruling, PromptNote):
            return self.intake.dialect(hook).explain(hook.payload, ruling.words).encode()
        return self._say(hook, ruling) if isinstance(ruling, Verdict) else b""

    async def _wait(self, line: HookLine, hook: Hook, request: RequestId) -> None:
        """Tell the hook program to wait; send the answer once the request is settled."""
        decides = self.intake.dialect(hook).read_call(hook.payload) is not None
        line.write(WAIT + (self._say(hook, None) if decides else b"") + b"\n")
        if line.head.size is None:
            # A hook program of version 0 has closed its side: its exit cannot be detected.
            line.write(DECIDED + (await self.intake.answers.wait(hook, request)).encode())
            await self.intake.answers.note_told(request)
            return
        answer = await supervise.first_of(self.intake.answers.wait(hook, request), line.left())
        if answer is None:
            # The agent has ended the hook: it was answered elsewhere, or the agent is gone.
            await self.intake.answers.withdraw(request)
        else:
            line.write(DECIDED + answer.encode())
            await self.intake.answers.note_told(request)

    def _say(self, hook: Hook, verdict: Verdict | None) -> bytes:
        return self.intake.dialect(hook).answer(hook.payload, verdict).encode()

    async def _take_in(
        self, line: HookLine, body: bytes
    ) -> tuple[Hook | None, Ruling | KeepWorking | PromptNote | _Unreadable]:
        try:
            if line.events_of_oversized is not None:
                raise HookUnreadable(f"{line.head.size:,} bytes; {LARGEST:,} is the most")
            hook = read_body(line.head, body, pid=line.caller.pid)
            return hook, await self.intake.receive(hook)
        except POISON as error:
            # A retry would fail in the same way: parked where the user can see it, not retried.
            await self.intake.park(visible(line.head.key), error)
            events = line.events_of_oversized or events_in(body)
            return None, await self._refuse(line.head.agent, frozenset(events))

    async def _take_in_spooled(self, calls: Sequence[bytes]) -> None:
        read = partial(read_spooled, self.intake)
        await take_in(self.intake, await asyncio.to_thread(lambda: [*map(read, calls)]))

    async def _refuse(self, agent: str, events: frozenset[str]) -> _Unreadable:
        """Answer a live call that cannot be read, without letting it bypass a rule."""
        now = await self.intake.database.read(situation)
        rules_file = self.offline_answers.rules_file
        await rules_file.refresh(self.intake.database, self.clock)
        return _Unreadable(self.offline_answers.answer_to_unreadable(agent, events, now))

    async def _park_unread(self, key: str, why: str) -> None:
        await self.intake.park(visible(key), HookUnreadable(why))


def _log_refusal(error: Exception) -> None:
    _log.warning("A hook call could not be recorded: %s", error)
