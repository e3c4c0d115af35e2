"""A control connection to a tmux server: sends commands, receives replies and events."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Self, cast

import anyio

from rookery.model.errors import RuntimeFailed, RuntimeUnreachable
from rookery.runtimes.tmux.protocol import (
    Event,
    Notice,
    Parser,
    ProtocolExit,
    ProtocolQuestion,
    Reply,
)

#: Seconds for tmux to accept the connection: normally milliseconds, more on a busy computer.
CONNECT_TIMEOUT_SECONDS = 5.0

#: Seconds for the child to exit once its input is closed; a stopped server never releases it.
EXIT_TIMEOUT_SECONDS = 2.0

_log = logging.getLogger(__name__)


class TmuxFailed(RuntimeFailed):
    """tmux did not do it, or cannot say whether it did:"""


class TmuxRefused(TmuxFailed):
    """tmux refused:"""


class TmuxGone(TmuxFailed, RuntimeUnreachable):
    """The connection to tmux is gone:"""


class TmuxSilent(TmuxFailed, RuntimeUnreachable):
    """tmux did not answer, within seconds:"""


@dataclass(frozen=True, slots=True)
class _Waiting:
    question: ProtocolQuestion
    answered: asyncio.Future[None]

    def wake(self) -> None:
        if not self.answered.done():  # its caller may have been cancelled
            self.answered.set_result(None)


class _Child(asyncio.SubprocessProtocol):
    """The tmux client process: its pipes and its exit."""

    def __init__(self, hear: Callable[[bytes], None], lose: Callable[[str], None]) -> None:
        self.ended = asyncio.Event()
        self._hear = hear
        self._disconnect = lose

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, chunk: bytes) -> None:
        self._hear(chunk)

    def pipe_connection_lost(self, fd: int, reason: Exception | None) -> None:
        # Only here, not when the child exits: its last output may still be in the pipe then.
        if fd == 1:
            self._disconnect("it ended")

    def process_exited(self) -> None:
        self.ended.set()

    def write(self, wire: bytes) -> None:
        if not self._input.is_closing():  # else it has ended, and the output pipe reports that
            self._input.write(wire)

    def hang_up(self) -> None:
        self._input.close()

    async def leave(self) -> None:
        """Wait for the child to exit after ``hang_up``; kill it if it does not."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_TIMEOUT_SECONDS):
                    await self.ended.wait()
        finally:
            self._kill()
            # Shielded, so that cancellation leaves no child process behind.
            with anyio.move_on_after(EXIT_TIMEOUT_SECONDS, shield=True):
                await self.ended.wait()
            self._transport.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            self._transport.kill()

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))


class ControlClient:
    """Attached during its ``async with`` block, or until the connection is lost.

    ``hear`` is called on the event loop with every event except replies, in order; it must not
    block.
    """

    def __init__(
        self,
        tmux: str,
        socket: Path,
        session: str,
        *,
        flags: str,
        hear: Callable[[Event], None],
    ) -> None:
        # -N: do not start a server. -E: do not change the session's environment.
        where = (tmux, "-N", "-u", "-S", str(socket), "-C")
        self._argv = (*where, "attach-session", "-E", "-t", f"={session}", "-f", flags)
        self._hear = hear
        self._parser = Parser()
        self._mark = secrets.token_hex(16)
        self._waiting: deque[_Waiting] = deque()
        self._welcome: Reply | None = None
        self._welcomed = asyncio.Event()
        self._gone = asyncio.Event()
        self._last_words = ""
        self._progress_at = 0.0  #: when tmux last answered, or the queue became non-empty
        self._child = _Child(self._receive, self._disconnect)

    async def __aenter__(self) -> Self:
        await self._start()
        async with AsyncExitStack() as on_failure:
            on_failure.push_async_exit(self)
            await self._enter()
            on_failure.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._disconnect("it was closed")
        await self._child.leave()

    @property
    def gone(self) -> asyncio.Event:
        """Set once the connection is unusable."""
        return self._gone

    async def ask(self, *commands: bytes, deadline: float = 5.0) -> list[tuple[bytes, ...]]:
        """Send ``commands``, each made by ``line``, in one write; return what each printed.

        Raises ``TmuxRefused`` if tmux refused one: the others may have run nevertheless. After
        ``TmuxGone`` and ``TmuxSilent`` it is unknown which commands ran.

        ``deadline`` is how long tmux may take for one command, counted from its start: many
        commands may be queued.
        """
        question = ProtocolQuestion(commands, self._mark)
        if self._gone.is_set():
            raise TmuxGone(self._last_words)
        if commands:
            await self._wait_for(question, deadline)
        if not question.is_answered:
            raise TmuxGone(self._last_words)
        if question.refusal is not None:
            raise TmuxRefused(question.refusal.decode(errors="replace"))
        return question.replies

    async def _wait_for(self, question: ProtocolQuestion, deadline: float) -> None:
        waiting = _Waiting(question, asyncio.get_running_loop().create_future())
        if not self._waiting:
            self._note_progress()
        # It stays queued when its caller is cancelled: the replies come nevertheless.
        self._waiting.append(waiting)
        self._child.write(question.wire)
        while not waiting.answered.done():
            # Each caller watches the head of the queue, whose own caller may have been
            # cancelled.
            remaining = self._progress_at + deadline - self._now()
            if remaining <= 0:
                self._disconnect("it did not answer")
                raise TmuxSilent(deadline)
            await asyncio.wait([waiting.answered], timeout=remaining)

    def _note_progress(self) -> None:
        self._progress_at = self._now()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _start(self) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        try:
            # Shielded: if it is cancelled half-way, asyncio leaves the child behind.
            with anyio.CancelScope(shield=True):
                await asyncio.get_running_loop().subprocess_exec(
                    lambda: self._child,
                    *self._argv,
                    stdin=PIPE,
                    stdout=PIPE,
                    # One stream, so that the error message is read before the end of file.
                    stderr=STDOUT,
                    env=environment,
                    # Keep a Ctrl-C on the daemon's terminal from reaching the child.
                    start_new_session=True,
                )
        except OSError as error:
            message = f"{self._argv[0]} cannot be run, {error.strerror}"
            raise TmuxGone(message) from error

    async def _enter(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                await self._welcomed.wait()
        except TimeoutError:
            raise TmuxSilent(CONNECT_TIMEOUT_SECONDS) from None
        if self._welcome is None:
            raise TmuxGone(self._last_words)
        if not self._welcome.ok:
            raise TmuxRefused(b"\n".join(self._welcome.lines).decode(errors="replace"))

    def _receive(self, chunk: bytes) -> None:
        for event in self._parser.feed(chunk):
            if self._gone.is_set():
                return
            if isinstance(event, Reply):
                self._take(event)
            else:
                self._notice(event)

    def _take(self, reply: Reply) -> None:
        if self._welcome is None:
            # The first block is the reply to attach-session itself.
            self._welcome = reply
            self._welcomed.set()
        elif not reply.is_ours:
            return
        elif not self._waiting:
            self._disconnect("it answered without a request")
        else:
            self._note_progress()
            self._waiting[0].question.take(reply)
            if self._waiting[0].question.is_answered:
                self._waiting.popleft().wake()

    def _notice(self, event: Event) -> None:
        match event:
            case ProtocolExit(reason) if reason:
                self._last_words = reason
            case Notice("garbage", (text,)) if self._waiting:
                self._waiting[0].question.take_complaint(text)
            case Notice("garbage", (text,)) if self._welcome is None:
                self._last_words = text  # why it could not start
            case Notice("end" | "error"):
                # The end of a block that has ended before: a pane's text forged the first end.
                self._disconnect("a reply was forged")
        try:
            self._hear(event)
        except Exception:  # noqa: BLE001 - a failing callback must not stop the connection
            _log.exception("What was heard of tmux made a hearer fail: %r", type(event))

    def _disconnect(self, reason: str) -> None:
        if self._gone.is_set():
            return
        self._last_words = self._last_words or reason
        self._gone.set()
        self._welcomed.set()
        self._child.hang_up()
        while self._waiting:
            self._waiting.popleft().wake()
