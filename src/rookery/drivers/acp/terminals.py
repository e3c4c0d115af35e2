"""Run the commands that an agent lets its client run; they end with the session."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rookery.processes import signal_name

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

    def __init__(self, process: Process, limit: int) -> None:
        self._process = process
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
        """Kill it and the processes of its group."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def release(self) -> None:
        self.kill()
        self._reading.cancel()


class Terminals:
    """The commands of one session, with the session's environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._terminals: dict[str, ClientTerminal] = {}
        self._numbers = count(1)

    async def create(
        self, argv: Sequence[str], added: Mapping[str, str], folder: Path, limit: int | None
    ) -> str:
        """Run a command; return the id of its terminal. Raises ``TerminalRefused``."""
        if len(self._terminals) >= MAX_TERMINALS:
            raise TerminalRefused(f"{MAX_TERMINALS} terminals are open; release one first.")
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                env={**self._environment, **added},
                cwd=folder,
                start_new_session=True,  # it is killed with all that it has started
            )
        except (OSError, ValueError) as error:
            raise TerminalRefused(f"{argv[0]} cannot be run: {error}") from error
        kept = MAX_OUTPUT_BYTES if limit is None else min(limit, MAX_OUTPUT_BYTES)
        name = f"terminal-{next(self._numbers)}"
        self._terminals[name] = ClientTerminal(process, kept)
        return name

    def find(self, name: str) -> ClientTerminal:
        """Return a terminal. Raises ``TerminalRefused``."""
        if (found := self._terminals.get(name)) is None:
            raise TerminalRefused(f"there is no terminal {name!r}.")
        return found

    def release(self, name: str) -> None:
        self.find(name).release()
        del self._terminals[name]

    def close(self) -> None:
        """Kill all of them."""
        for terminal in self._terminals.values():
            terminal.release()
        self._terminals.clear()
