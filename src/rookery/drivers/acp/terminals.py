"""Run the commands that an agent lets its client run; they end with the session."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import DEVNULL, STDOUT
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rookery.drivers.child_process import ChildProcess
from rookery.processes import Process, signal_name, signal_sessions

#: Bytes of a command's output that are kept at most: the last ones.
MAX_OUTPUT_BYTES = 2**20

#: Commands of one session at the same time.
MAX_TERMINALS = 32

_CHUNK_BYTES = 65_536


class TerminalRefused(Exception):
    """The request cannot be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class CommandExit:
    code: int | None
    signal: str | None


class ClientTerminal:
    """One command, and the end of its output."""

    def __init__(self, process: ChildProcess, limit: int) -> None:
        self._process = process
        #: It leads a terminal session, in which its children stay after its end. It may have
        #: ended already: then only its number is known.
        self.leader = Process.of(process.pid) or Process(process.pid, "")
        self._limit = limit
        self._output = bytearray()
        self.is_cut = False
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout  # noqa: S101 - it is a pipe
        while chunk := await self._process.stdout.read(_CHUNK_BYTES):
            self._output += chunk
            if (extra := len(self._output) - self._limit) > 0:
                del self._output[:extra]
                self.is_cut = True

    @property
    def output(self) -> str:
        kept = bytes(self._output)
        if self.is_cut:  # it may begin within a character
            kept = kept.lstrip(bytes(range(0x80, 0xC0)))
        return kept.decode(errors="replace")

    @property
    def exit(self) -> CommandExit | None:
        """Return how it ended; ``None`` while it runs."""
        status = self._process.returncode
        if status is None:
            return None
        if status >= 0:
            return CommandExit(status, None)
        return CommandExit(None, signal_name(-status))

    async def wait(self) -> CommandExit:
        await self._process.wait()
        # A child of it may keep its output open.
        await asyncio.wait({self._reading}, timeout=0.2)
        assert self.exit  # noqa: S101 - it has ended
        return self.exit

    def kill(self) -> None:
        """Kill it with all that it has started, unless it has ended."""
        if self._process.returncode is None:
            signal_sessions((self.leader,), signal.SIGKILL)

    def release(self) -> None:
        """Kill it unless it has ended; what it left in the background can go on writing."""
        self.kill()
        self._limit = 0

    def close(self) -> None:
        self._reading.cancel()
        self._process.close_pipes()


class Terminals:
    """The commands of one session, with the session's environment."""

    def __init__(
        self, environment: Mapping[str, str], started: Callable[[Process], None]
    ) -> None:
        """Call ``started`` with the process of each command."""
        self._environment = environment
        self._started = started
        #: The commands that have ended; what they left in the background ends with the session.
        self._ended: list[ClientTerminal] = []
        self._terminals: dict[str, ClientTerminal] = {}
        self._numbers = count(1)

    async def create(
        self, argv: Sequence[str], added: Mapping[str, str], folder: Path, limit: int | None
    ) -> str:
        """Run a command; return the id of its terminal. Raises ``TerminalRefused``."""
        if len(self._terminals) >= MAX_TERMINALS:
            raise TerminalRefused(f"{MAX_TERMINALS} terminals are open; release one first.")
        try:
            environment = {**self._environment, **added}
            # In a session of its own, it is killed with all that it has started.
            process = await ChildProcess.start(
                argv, environment, folder, stdin=DEVNULL, stderr=STDOUT
            )
        except (OSError, ValueError) as error:
            raise TerminalRefused(f"{argv[0]} cannot be run: {error}") from error
        kept = MAX_OUTPUT_BYTES if limit is None else min(limit, MAX_OUTPUT_BYTES)
        name = f"terminal-{next(self._numbers)}"
        terminal = self._terminals[name] = ClientTerminal(process, kept)
        self._started(terminal.leader)
        return name

    def find(self, name: str) -> ClientTerminal:
        """Return a terminal. Raises ``TerminalRefused``."""
        if (found := self._terminals.get(name)) is None:
            raise TerminalRefused(f"there is no terminal {name!r}.")
        return found

    def release(self, name: str) -> None:
        terminal = self.find(name)
        terminal.release()
        del self._terminals[name]
        self._ended.append(terminal)

    def close(self) -> None:
        """Kill all of them, and what is left of those that have ended."""
        for name in [*self._terminals]:
            self.release(name)
        if self._ended:
            signal_sessions([each.leader for each in self._ended], signal.SIGKILL)
        for terminal in self._ended:
            terminal.close()
        self._ended.clear()
