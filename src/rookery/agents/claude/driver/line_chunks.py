"""Read the output of a program in chunks of whole lines."""

from __future__ import annotations

import asyncio

#: Bytes that are read at once: as many as a pipe holds.
_CHUNK_BYTES = 65_536


class LineChunks:
    """Returns all lines that have come, instead of one at a time, to spare work for each."""

    def __init__(self, stream: asyncio.StreamReader, *, max_line_bytes: int) -> None:
        self._stream = stream
        self._max_line_bytes = max_line_bytes
        self._begun: list[bytes] = []  #: the parts of a line whose end has not come yet

    async def read(self) -> bytes:
        """Return whole lines, at least one; at the end what is left, and then nothing.

        Raises ``ValueError`` if a line is too long.
        """
        while chunk := await self._stream.read(_CHUNK_BYTES):
            end = chunk.rfind(b"\n") + 1
            if end:
                lines = b"".join((*self._begun, chunk[:end]))
                self._begun = [chunk[end:]]
                return lines
            self._begun.append(chunk)
            if sum(map(len, self._begun)) > self._max_line_bytes:
                raise ValueError("A line is too long.")
        rest, self._begun = b"".join(self._begun), []
        return rest
