"""The process of a driven Claude Code: the SDK's control messages and the conversation.

It is a transport of its own because the SDK's adds the environment of the driver host, names
neither the signal nor the last lines of a process that has died, and drops messages that only
newer versions send, such as the receipt of a prompt.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from signal import SIGKILL
from typing import Any

import msgspec
from claude_agent_sdk import CLIConnectionError, Transport

from rookery import processes
from rookery.agents.claude.driver.line_chunks import LineChunks
from rookery.agents.claude.driver.trust import is_trusted
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.program_ends import ErrorOutput, exit_text

#: The longest message: one may contain several pictures.
MAX_LINE_BYTES = 64 * 2**20

#: Seconds for the exit status of a process whose output has ended.
EXIT_SECONDS = 0.5

#: The messages that belong to the SDK.
_CONTROL = frozenset({"control_request", "control_response", "control_cancel_request"})

_PROGRAM = "Claude Code"

_DECODER = msgspec.json.Decoder(dict[str, Any])


class ClaudeProcess(Transport):
    """Runs Claude Code; passes control messages to the SDK and all others to ``take``."""

    def __init__(
        self,
        launch: DriverLaunch,
        take: Callable[[Sequence[Mapping[str, Any]]], None],
        take_control: Callable[[Mapping[str, Any]], bool] = lambda _: False,
    ) -> None:
        """``take_control`` returns whether a control message is not for the SDK."""
        self.is_trusted = False  #: whether the user lets it use what the project defines
        self._launch = launch
        self._take = take
        self._take_control = take_control
        self._process: Process | None = None
        self._output: LineChunks | None = None
        self._errors: ErrorOutput | None = None
        self._is_told_to_end = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def connect(self) -> None:
        """Start the program. Raises ``DriverError`` if it cannot be run."""
        launch = self._launch
        self.is_trusted = await asyncio.to_thread(is_trusted, launch.folder, launch.environment)
        restrictions = () if self.is_trusted else launch.options.get("untrusted", ())
        try:
            self._process = await asyncio.create_subprocess_exec(
                *launch.argv,
                *restrictions,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=launch.folder,
                env=launch.environment,
            )
        except OSError as error:
            named = "" if error.filename in {None, launch.argv[0]} else f"{error.filename}: "
            raise DriverError(
                f"{launch.argv[0]} cannot be run: {named}{error.strerror}."
            ) from error
        # They were opened with pipes.
        assert self._process.stdout  # noqa: S101
        assert self._process.stderr  # noqa: S101
        self._output = LineChunks(self._process.stdout, max_line_bytes=MAX_LINE_BYTES)
        self._errors = ErrorOutput(self._process.stderr)

    async def write(self, data: str) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise CLIConnectionError("It has ended.")
        # Not drained: a program that is busy must not hold up the caller.
        process.stdin.write(data.encode())

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the control messages until its output ends.

        That is an error unless its input was ended first.
        """
        while lines := await self._read_lines():
            messages, error = _parse(lines)
            told: list[Mapping[str, Any]] = []
            for message in messages:
                if message.get("type") in _CONTROL:
                    # What it said before comes first: a question may be about a call in there.
                    self._take(told)
                    told = []
                    if not self._take_control(message):
                        yield message
                else:
                    told.append(message)
            self._take(told)
            if error:
                raise error
        if not self._is_told_to_end:
            raise DriverError(await self._describe_end())

    async def _read_lines(self) -> bytes:
        if self._output is None:
            return b""
        try:
            return await self._output.read()
        except ValueError as error:
            limit = MAX_LINE_BYTES // 2**20
            raise DriverError(f"{_PROGRAM} wrote a line of more than {limit} MiB.") from error

    async def _describe_end(self) -> str:
        """Say how the process ended, with the last lines of its stderr."""
        process = self._process
        if process is None:
            return f"{_PROGRAM} was not started."
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                await process.wait()
                if self._errors:
                    await self._errors.reading
        status, errors = process.returncode, self._errors.text if self._errors else ""
        ending = "closed its output" if status is None else exit_text(status)
        return f"{_PROGRAM} {ending}: {errors}" if errors else f"{_PROGRAM} {ending}."

    async def end_input(self) -> None:
        """Tell it that no prompt follows; it ends once its turn and its commands have."""
        self._is_told_to_end = True
        if self._process and self._process.stdin:
            self._process.stdin.close()

    def terminate(self) -> None:
        if self._process and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def close(self) -> None:
        """End it with all that it started, if it has not ended by itself."""
        process = self._process
        if process and process.returncode is None:
            _kill_tree(process.pid)
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_SECONDS):
                    await process.wait()
        await self.end_input()
        if self._errors:
            self._errors.reading.cancel()

    def is_ready(self) -> bool:
        return self._process is not None and self._process.returncode is None


def _parse(lines: bytes) -> tuple[list[dict[str, Any]], DriverError | None]:
    """Read messages, up to a line that is not JSON."""
    with suppress(msgspec.MsgspecError):
        return _DECODER.decode_lines(lines), None
    messages: list[dict[str, Any]] = []
    for line in lines.split(b"\n"):
        if not line.startswith(b"{"):
            continue  # some builds write other output there
        try:
            # Also reads half a character, which some texts end with.
            messages.append(json.loads(line))
        except ValueError:
            shown = line[:200].decode(errors="replace").strip()
            return messages, DriverError(f"{_PROGRAM} wrote a line that is not JSON: {shown}")
    return messages, None


def _kill_tree(pid: int) -> None:
    if program := processes.Process.of(pid):
        processes.send_signal(program, processes.descendants(pid), SIGKILL)
