"""Runs hooks as children: in order, never in the way, and open when they fail."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

from rookery.programs.demo import settings, verdicts
from rookery.programs.demo.verdicts import SILENCE, Hearing, Verdict

_CHUNK = 65_536


@dataclass(slots=True, eq=False)
class _Child:
    """A hook's command that runs. Its ends of the pipes are -1 once they are closed."""

    pid: int
    stdin: int
    stdout: int
    unsent: memoryview
    deadline: float
    output: bytearray

    def exchange(self) -> None:
        """Give and take what the pipes bear."""
        self._send()
        self._receive()

    def ended(self) -> Verdict | None:
        """Return what it decided, if it has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        self._receive()
        self._close()
        return verdicts.read(bytes(self.output)) if status == 0 else SILENCE

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._close()

    def _send(self) -> None:
        try:
            while self.stdin >= 0 and self.unsent:
                self.unsent = self.unsent[os.write(self.stdin, self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            pass  # it does not want to know: its business
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def _receive(self) -> None:
        try:
            while self.stdout >= 0 and (chunk := os.read(self.stdout, _CHUNK)):
                self.output += chunk
        except BlockingIOError:
            return
        if self.stdout >= 0:
            os.close(self.stdout)
            self.stdout = -1

    def _close(self) -> None:
        for end in (self.stdin, self.stdout):
            if end >= 0:
                os.close(end)
        self.stdin = self.stdout = -1


@dataclass(slots=True, eq=False)
class _Run:
    """An event on its way through the commands that want to hear of it."""

    payload: bytes
    commands: deque[settings.Command]
    hearing: Hearing
    is_alongside: bool
    child: _Child | None = None
    verdict: Verdict = SILENCE

    def advance(self, now: float) -> None:
        """Go on to the end, or as far as the commands have come."""
        while self.hearing.verdict is None:
            if self.child is not None:
                ended = self._ended(self.child, now)
                if ended is None:
                    return
                # The first command that decides anything decides.
                self.verdict = ended if self.verdict == SILENCE else self.verdict
            if not self.commands:
                self.hearing.verdict = self.verdict
                return
            self.child = _spawn(self.commands.popleft(), self.payload, now)

    def _ended(self, child: _Child, now: float) -> Verdict | None:
        child.exchange()
        ended = child.ended()
        if ended is None and now >= child.deadline:
            child.kill()
            ended = SILENCE
        if ended is not None:
            self.child = None
        return ended


class Hooks:
    """The hooks of one session: each starts when the one before it has ended.

    A hook that runs alongside starts in its turn, but nobody waits for it.
    """

    def __init__(self, commands: settings.Hooks) -> None:
        self._commands = commands
        self._waiting: deque[_Run] = deque()
        self._running: list[_Run] = []

    @property
    def is_idle(self) -> bool:
        """Whether everybody who is waited for has been told."""
        return not self._waiting and all(run.is_alongside for run in self._running)

    def tell(
        self, event: str, payload: bytes, now: float, *, alongside: bool = False
    ) -> Hearing:
        hearing = Hearing()
        commands = deque(self._commands.get(event, ()))
        self._waiting.append(_Run(payload, commands, hearing, alongside))
        self._start(now)
        return hearing

    def advance(self, now: float) -> None:
        for run in self._running:
            run.advance(now)
        self._running = [run for run in self._running if run.hearing.verdict is None]
        self._start(now)

    def _start(self, now: float) -> None:
        """Start those whose turn has come."""
        while self._waiting and all(run.is_alongside for run in self._running):
            run = self._waiting.popleft()
            run.advance(now)
            if run.hearing.verdict is None:
                self._running.append(run)

    def pipes(self) -> tuple[Collection[int], Collection[int]]:
        """Return the ends to wait for: those to read, those to write."""
        children = self._children()
        return (
            [child.stdout for child in children if child.stdout >= 0],
            [child.stdin for child in children if child.stdin >= 0],
        )

    def deadline(self) -> float | None:
        return min((child.deadline for child in self._children()), default=None)

    def abandon(self) -> None:
        """End what still runs: nobody is left to hear its answer."""
        for child in self._children():
            os.kill(child.pid, signal.SIGTERM)

    def _children(self) -> list[_Child]:
        return [run.child for run in self._running if run.child is not None]


def _spawn(command: settings.Command, payload: bytes, now: float) -> _Child | None:
    """Start a command. None if that cannot be done, which nobody needs to know."""
    their_stdin, stdin = os.pipe()
    stdout, their_stdout = os.pipe()
    os.set_blocking(stdin, False)
    os.set_blocking(stdout, False)
    files = [
        (os.POSIX_SPAWN_DUP2, their_stdin, 0),
        (os.POSIX_SPAWN_DUP2, their_stdout, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        pid = os.posix_spawnp(
            command.words[0],
            command.words,
            os.environ,
            file_actions=files,
            setsigdef=[signal.SIGPIPE],
        )
    except OSError:
        os.close(stdin)
        os.close(stdout)
        return None
    finally:
        os.close(their_stdin)
        os.close(their_stdout)
    return _Child(pid, stdin, stdout, memoryview(payload), now + command.timeout, bytearray())
