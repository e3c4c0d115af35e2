"""How the program of an agent ended: its exit status, and the last of its error output."""

from __future__ import annotations

import asyncio

from rookery.processes import signal_name

#: Bytes that are kept of what a program wrote to its error output.
MAX_ERROR_BYTES = 4_096

_CHUNK_BYTES = 65_536


class ErrorOutput:
    """Reads the error output of a program, so that it never blocks, and keeps the end of it."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._kept = b""
        self.reading = asyncio.create_task(self._read(stream))  #: ends with the output

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK_BYTES):
            self._kept = (self._kept + chunk)[-MAX_ERROR_BYTES:]

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace").strip()


def exit_text(status: int) -> str:
    """Return how a program ended, such as "exited with status 1", without its name."""
    if status < 0:
        return f"was killed by {signal_name(-status)}"
    return f"exited with status {status}"
