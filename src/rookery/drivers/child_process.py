"""A child process whose own end is noticed also while its children have its pipes."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Bytes of the longest line that can be read: agents send whole files in one.
MAX_LINE_BYTES = 64 * 2**20


class _Protocol(SubprocessStreamProtocol):
    def __init__(self) -> None:
        super().__init__(limit=MAX_LINE_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class ChildProcess(Process):
    """A child process in a session of its own: a signal to the host's group is not for it."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        super().__init__(transport, protocol, asyncio.get_running_loop())
        self._exited = protocol.exited
        self._pipes = transport

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        stdin: int = PIPE,
        stderr: int = PIPE,
    ) -> ChildProcess:
        """Start a program. Raises ``OSError`` or ``ValueError``."""
        transport, protocol = await asyncio.get_running_loop().subprocess_exec(
            _Protocol,
            *argv,
            stdin=stdin,
            stdout=PIPE,
            stderr=stderr,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
        return cls(transport, protocol)

    async def wait(self) -> int:
        """Wait for its end. ``Process.wait`` also waits for children that have its pipes."""
        await self._exited.wait()
        assert self.returncode is not None  # noqa: S101 - it has ended
        return self.returncode

    def close_pipes(self) -> None:
        """Close the pipes of a process that has ended; they may be open in a child of it."""
        self._pipes.close()
