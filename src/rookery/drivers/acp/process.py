"""The program that speaks ACP: its lines, the end of its errors, and how it ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

from rookery.drivers.child_process import MAX_LINE_BYTES, ChildProcess
from rookery.drivers.driver import DriverError
from rookery.drivers.program_ends import ErrorOutput, exit_text

#: Lines of its error output that are shown.
SHOWN_ERROR_LINES = 3

#: Characters that are shown of a line that is not part of the protocol.
SHOWN_LINE_CHARACTERS = 120

#: Seconds for the rest of the output of a program that has ended, and for the end of a program
#: whose output has ended.
REST_SECONDS = 0.4

#: Seconds for a program to end by itself once its input is closed, and then once it is told to.
QUIT_SECONDS = 2.0


class AcpProcess:
    """One agent's program. It is also the transport of the protocol's messages."""

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._strange_line = ""
        self._is_broken = False  #: messages can no longer be exchanged with it
        self._is_killed = False  #: it ran when its session ended
        self._output_ended = asyncio.Event()
        assert process.stderr  # noqa: S101 - it is a pipe
        self._errors = ErrorOutput(process.stderr)

    @classmethod
    async def start(
        cls, argv: tuple[str, ...], environment: Mapping[str, str], folder: Path
    ) -> AcpProcess:
        """Run the program. Raises ``DriverError``."""
        try:
            process = await ChildProcess.start(
                argv,
                # Some agents take their folder from the variable of shells.
                {**environment, "PWD": str(folder)},
                folder,
            )
        except (OSError, ValueError) as error:
            raise DriverError(f"{argv[0]} cannot be run: {error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None and not self._output_ended.is_set()

    @property
    def has_written(self) -> bool:
        """Return whether the program's input holds all that was sent."""
        assert self._process.stdin  # noqa: S101 - it is a pipe
        return self._process.stdin.transport.get_write_buffer_size() == 0

    # -- The transport of ``acp.ClientSideConnection`` ---------------------------------------

    async def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin  # noqa: S101 - it is a pipe
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (OSError, RuntimeError) as error:
            raise ConnectionError(str(error)) from error

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; ``None`` after the last one, or if one is malformed."""
        assert self._process.stdout  # noqa: S101 - it is a pipe
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                self._strange_line = f"a line of more than {MAX_LINE_BYTES} bytes"
                line = b""
            message = self._decode(line) if line.strip() else None
            if message is None and (not line or self._strange_line):
                self._output_ended.set()
                return None
            if message:
                return message

    def _decode(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if _is_message(message):
            return message
        shown = line.decode(errors="replace").strip()[:SHOWN_LINE_CHARACTERS]
        self._strange_line = json.dumps(shown, ensure_ascii=False)
        return None

    async def close(self) -> None:
        """Leave the program running: the connection ends, not the program."""

    def give_up(self) -> None:
        """Count it as over, although it may run: it takes no messages any more."""
        self._is_broken = True
        self._output_ended.set()

    # -- Its end -----------------------------------------------------------------------------

    async def wait_until_over(self) -> None:
        """Wait until it has ended, or its output has."""
        exited = asyncio.ensure_future(self._process.wait())
        silent = asyncio.ensure_future(self._output_ended.wait())
        try:
            await asyncio.wait({exited, silent}, return_when=asyncio.FIRST_COMPLETED)
            if not self._strange_line:
                # One follows the other, unless a child of it keeps its output open.
                await asyncio.wait({exited, silent}, timeout=REST_SECONDS)
        finally:
            exited.cancel()
            silent.cancel()

    async def quit(self) -> None:
        """Make it end: close its input, then send SIGTERM. Raises ``TimeoutError``."""
        assert self._process.stdin  # noqa: S101 - it is a pipe
        self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIT_SECONDS):
                await self._process.wait()
                return
        with suppress(ProcessLookupError):
            self._process.terminate()
        async with asyncio.timeout(QUIT_SECONDS):
            await self._process.wait()

    async def kill(self) -> None:
        """Kill it if it still runs, and read the rest of its error output."""
        if self._process.returncode is None:
            self._is_killed = True
            with suppress(ProcessLookupError):
                self._process.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                await self._process.wait()
                await asyncio.shield(self._errors.reading)
        self._errors.reading.cancel()
        self._process.close_pipes()

    @property
    def status(self) -> int | None:
        return self._process.returncode

    def why_over(self) -> str:
        """Say how it ended, with the last lines of its error output."""
        if self._strange_line:
            reason = f"it does not speak ACP: it printed {self._strange_line}"
        elif self.status is None or self._is_killed:
            reason = "the connection to it broke" if self._is_broken else "it closed its output"
        else:
            reason = f"its program {exit_text(self.status)}"
        lines = self._errors.text.splitlines()
        shown = " / ".join(line.strip() for line in lines[-SHOWN_ERROR_LINES:])
        return f"{reason}: {shown}" if shown else reason


def _is_message(message: object) -> TypeGuard[dict[str, Any]]:
    """Return whether the ACP library can take a message: its reading ends with other ones."""
    match message:
        case {"method": _}:
            return True
        case {"id": int() | str() | None, **rest}:
            return isinstance(rest.get("error"), dict | None)
        case _:
            return False
