"""Runs hook commands as child processes and reads their decisions."""

from __future__ import annotations

import json
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from io import FileIO
from typing import Any

_CHUNK_BYTES = 65_536

#: Returns seconds of a monotonic clock.
MonotonicClock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class HookCommand:
    words: tuple[str, ...]
    timeout_s: float


HookCommands = Mapping[str, tuple[HookCommand, ...]]  #: by event


class Ruling(StrEnum):
    NONE = "none"  #: nothing was decided
    ALLOW = "allow"
    ALWAYS = "always"  #: allow, and do not ask again in this session
    ASK = "ask"  #: show the dialog
    DENY = "deny"  #: skip this tool call; the turn continues
    REFUSE = "refuse"  #: skip this tool call and end the turn
    BLOCK = "block"  #: drop the prompt, or continue the turn instead of stopping


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a hook or of the user at the keyboard."""

    ruling: Ruling = Ruling.NONE
    text: str = ""  #: the reason, or the chosen option
    answers: Mapping[str, str] = field(default_factory=dict)  #: question -> option, from a hook


NO_DECISION = Decision()


def read_decision(output: bytes) -> Decision:
    """Read a hook's output in Claude Code's format; any other output decides nothing."""
    try:
        answer = json.loads(output)
    except (ValueError, RecursionError):
        return NO_DECISION
    match answer:
        case {"decision": "block"}:
            return Decision(Ruling.BLOCK, _text(answer, "reason"))
        case {"hookSpecificOutput": {"permissionDecision": "allow" | "deny" | "ask" as ruling}}:
            reason = _text(answer["hookSpecificOutput"], "permissionDecisionReason")
            return Decision(Ruling(ruling), reason)
        case {"hookSpecificOutput": {"decision": {"behavior": str()} as decision}}:
            return _read_permission(decision)
        case _:
            return NO_DECISION


def _read_permission(decision: Mapping[str, Any]) -> Decision:
    match decision:
        case {"behavior": "allow", "updatedInput": {"answers": {} as answers}}:
            labels = {
                str(key): label for key, label in answers.items() if isinstance(label, str)
            }
            return Decision(Ruling.ALLOW, answers=labels)
        case {"behavior": "allow"}:
            return Decision(Ruling.ALLOW)
        case {"behavior": "deny", "interrupt": True}:
            return Decision(Ruling.REFUSE)
        case {"behavior": "deny"}:
            return Decision(Ruling.DENY, _text(decision, "message"))
        case _:
            return NO_DECISION


def _text(answer: Mapping[str, Any], key: str) -> str:
    text = answer.get(key)
    return text if isinstance(text, str) else ""


class _HookProcess:
    """A running hook command, with non-blocking pipes to it."""

    def __init__(self, command: HookCommand, payload: bytes, now: float) -> None:
        """Start the command. Raises OSError if it cannot be started."""
        child_stdin, stdin = os.pipe()
        stdout, child_stdout = os.pipe()
        os.set_blocking(stdin, False)
        os.set_blocking(stdout, False)
        self.stdin, self.stdout = FileIO(stdin, "w"), FileIO(stdout)
        self.deadline = now + command.timeout_s
        self._unsent = memoryview(payload)
        self._output = bytearray()
        try:
            self.pid = os.posix_spawnp(
                command.words[0],
                command.words,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, child_stdin, 0),
                    (os.POSIX_SPAWN_DUP2, child_stdout, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsigdef=[signal.SIGPIPE],
            )
        except OSError:
            self._close()
            raise
        finally:
            os.close(child_stdin)
            os.close(child_stdout)

    def poll(self, now: float) -> Decision | None:
        """Move data through the pipes; return the decision once the command has ended."""
        self._send()
        self._receive()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid and now < self.deadline:
            return None
        if pid:
            self._receive()
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self._close()
        is_done = bool(pid) and status == 0
        return read_decision(bytes(self._output)) if is_done else NO_DECISION

    def _send(self) -> None:
        try:
            while self._unsent and (sent := self.stdin.write(self._unsent)):
                self._unsent = self._unsent[sent:]
        except OSError:  # the command has closed its input: it may ignore the payload
            self._unsent = memoryview(b"")
        if not self._unsent:
            self.stdin.close()

    def _receive(self) -> None:
        while not self.stdout.closed and (chunk := self.stdout.read(_CHUNK_BYTES)) is not None:
            self._output += chunk
            if not chunk:
                self.stdout.close()

    def _close(self) -> None:
        self.stdin.close()
        self.stdout.close()


@dataclass(slots=True, eq=False)
class HookCall:
    """One event for its commands; it has a decision once all of them have ended."""

    decision: Decision | None = None
    payload: bytes = b""
    commands: deque[HookCommand] = field(default_factory=deque)
    is_concurrent: bool = False  #: later calls do not wait for it
    process: _HookProcess | None = None
    _first: Decision = NO_DECISION  #: of the first command that decided anything

    def advance(self, now: float) -> None:
        """Run the commands as far as possible without waiting."""
        while self.decision is None:
            if self.process is not None:
                decision = self.process.poll(now)
                if decision is None:
                    return
                self.process = None
                if self._first == NO_DECISION:
                    self._first = decision
            elif self.commands:
                # A command that cannot be started decides nothing.
                with suppress(OSError):
                    self.process = _HookProcess(self.commands.popleft(), self.payload, now)
            else:
                self.decision = self._first


class Hooks:
    """The hook calls of the program: each starts when all others but concurrent ones ended."""

    def __init__(self, commands: HookCommands, clock: MonotonicClock) -> None:
        self._commands = commands
        self._clock = clock
        self._waiting: deque[HookCall] = deque()
        self._running: list[HookCall] = []

    @property
    def is_idle(self) -> bool:
        """Return whether every call that others wait for has ended."""
        return not self._waiting and all(call.is_concurrent for call in self._running)

    @property
    def pipes(self) -> tuple[list[int], list[int]]:
        """Return the descriptors to read from, and the descriptors to write to."""
        processes = self._processes()
        return (
            [process.stdout.fileno() for process in processes if not process.stdout.closed],
            [process.stdin.fileno() for process in processes if not process.stdin.closed],
        )

    @property
    def deadline(self) -> float | None:
        return min((process.deadline for process in self._processes()), default=None)

    def run(self, event: str, payload: bytes, *, concurrent: bool = False) -> HookCall:
        commands = deque(self._commands.get(event, ()))
        call = HookCall(payload=payload, commands=commands, is_concurrent=concurrent)
        self._waiting.append(call)
        self._start()
        return call

    def advance(self) -> None:
        now = self._clock()
        for call in self._running:
            call.advance(now)
        self._running = [call for call in self._running if call.decision is None]
        self._start()

    def terminate(self) -> None:
        """End the commands that still run: their decisions have no reader."""
        for process in self._processes():
            os.kill(process.pid, signal.SIGTERM)

    def _start(self) -> None:
        """Start waiting calls in order, until one runs that the others must wait for."""
        while self._waiting and all(call.is_concurrent for call in self._running):
            call = self._waiting.popleft()
            call.advance(self._clock())
            if call.decision is None:
                self._running.append(call)

    def _processes(self) -> list[_HookProcess]:
        return [call.process for call in self._running if call.process is not None]
