"""The process of an agent's server, whose pipes a driver reads and writes."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Self

from rookery.drivers.child_process import ChildProcess
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.program_ends import ErrorOutput, exit_text


class ServerProcess:
    """A child process with pipes. Its error output is read, so that it never blocks."""

    def __init__(self, process: ChildProcess) -> None:
        assert process.stdin  # noqa: S101 - all three are pipes
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        self.pid = process.pid
        self.input, self.output = process.stdin, process.stdout
        self._process = process
        self._errors = ErrorOutput(process.stderr)

    @classmethod
    async def start(cls, launch: DriverLaunch) -> Self:
        """Start the program. Raises ``DriverError``."""
        try:
            process = await ChildProcess.start(launch.argv, launch.environment, launch.folder)
        except (OSError, ValueError) as error:
            raise DriverError(f"{launch.argv[0]} cannot be started: {error}.") from error
        return cls(process)

    def send_signal(self, number: int) -> None:
        """Send a signal; without effect if the process has ended."""
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def close(self) -> None:
        """Kill the process if it still runs, and close the pipes."""
        self.send_signal(signal.SIGKILL)
        await self._process.wait()
        self._errors.reading.cancel()
        self._process.close_pipes()

    async def ended(self) -> str:
        """Wait for the end of the process, and return in a sentence how it ended."""
        code = await self._process.wait()
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
