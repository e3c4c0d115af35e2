"""The process of an agent's server, whose pipes a driver reads and writes."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Self

from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.program_ends import ErrorOutput, exit_text

#: Bytes of the longest line that a server may send, for instance a large file in a diff.
MAX_LINE_BYTES = 64 * 2**20


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Notices the end of the process itself: ``Process.wait`` also waits for its pipes."""

    def __init__(self) -> None:
        super().__init__(limit=MAX_LINE_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class ServerProcess:
    """A child process with pipes. Its error output is read, so that it never blocks."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        loop = asyncio.get_running_loop()
        process = asyncio.subprocess.Process(transport, protocol, loop)
        assert process.stdin  # noqa: S101 - all three are pipes
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        self.pid = process.pid
        self.input, self.output = process.stdin, process.stdout
        self._process = process
        self._transport = transport
        self._exited = protocol.exited
        self._errors = ErrorOutput(process.stderr)

    @classmethod
    async def start(cls, launch: DriverLaunch) -> Self:
        """Start the program. Raises ``DriverError``."""
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.subprocess_exec(
                _Protocol,
                *launch.argv,
                env=dict(launch.environment),
                cwd=launch.folder,
                start_new_session=True,  # a signal to the host's group must not reach it
            )
        except OSError as error:
            raise DriverError(f"{launch.argv[0]} cannot be started: {error}.") from error
        return cls(transport, protocol)

    def send_signal(self, number: int) -> None:
        """Send a signal; without effect if the process has ended."""
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def close(self) -> None:
        """Kill the process if it still runs, and close the pipes."""
        self.send_signal(signal.SIGKILL)
        await self._exited.wait()
        self._errors.reading.cancel()
        self._transport.close()

    async def ended(self) -> str:
        """Wait for the end of the process, and return in a sentence how it ended."""
        await self._exited.wait()
        code = self._process.returncode or 0
        with suppress(OSError):  # a launcher may leave the program that it has started
            os.killpg(self.pid, signal.SIGKILL)
        try:
            async with asyncio.timeout(0.5):  # a grandchild may keep the pipe open
                await asyncio.shield(self._errors.reading)
        except TimeoutError:
            self._errors.reading.cancel()
        errors = self._errors.text
        last = f" Its last error output: {errors}" if errors else ""
        return f"The agent's program {exit_text(code)}.{last}"
