"""A connection of a hook program: one call comes in, within limits, and an answer goes out.

A protocol and not a pair of streams: most calls arrive whole, and those cost half as much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rookery.gateway.peers import Peer, peer
from rookery.gateway.spool import MAX_LINE_BYTES
from rookery.hook_protocol import Head, read_head
from rookery.model.errors import HookUnreadable, RookeryError
from rookery.programs.hook import MAX_PAYLOAD_BYTES

#: Bytes of one call. Most have far less than the most.
LARGEST, USUAL = MAX_PAYLOAD_BYTES, 256 * 1024

#: Seconds for a caller to say what it has to say.
PATIENCE = 5.0


class HookLine(asyncio.Protocol):
    """Reads a call's first line by itself; the rest is read once ``rest`` asks for it."""

    transport: asyncio.Transport
    caller: Peer
    first: bytes  #: line, which ``head`` was read from
    head: Head

    def __init__(
        self,
        begin: Callable[[HookLine], None],
        refuse: Callable[[RookeryError | OSError], None],
    ) -> None:
        self._begin = begin
        self._refuse = refuse
        self._buffer = bytearray()
        self._has_begun = False
        self._is_asked = False  #: whether ``rest`` waits, so that more may be read
        self._is_heard = False  #: whether the whole call was read
        self._news = asyncio.Event()  #: more came, or the caller has closed its side
        self.has_closed = False  #: the caller sends no more

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._deadline = asyncio.get_running_loop().call_later(PATIENCE, self._expire)
        try:
            self.caller = peer(transport.get_extra_info("socket"))
        except OSError as error:
            self._refuse(error)
            self.close()
            return
        if not self.caller.is_ours:
            self.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._has_begun:
            self._look_for_head()
        self._news.set()
        if self._has_begun and self._has_enough:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self.has_closed = True
        if not self._has_begun:
            self._look_for_head()
        self._news.set()
        return True  # it still hears the answer

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_closed = True
        self._deadline.cancel()
        self._news.set()

    def write(self, said: bytes) -> None:
        self.transport.write(said)

    def close(self) -> None:
        """Close the connection once all that was written is sent."""
        self._deadline.cancel()
        self.transport.close()

    def _look_for_head(self) -> None:
        """Begin, or refuse the call, as soon as its first line is here."""
        if self.transport.is_closing():
            return
        try:
            self._has_begun = self._read_head()
        except HookUnreadable as error:
            self._refuse(error)
            self.close()
            return
        if self._has_begun:
            self._deadline.cancel()
            self._begin(self)

    def _read_head(self) -> bool:
        """Read the first line. False if it is still to come. Raises ``HookUnreadable``."""
        end = self._buffer.find(b"\n") + 1
        size = end or len(self._buffer)
        if size > MAX_LINE_BYTES:
            raise HookUnreadable("its first line is too long")
        if not end and not self.has_closed:
            return False
        self.first = bytes(self._buffer[:size])
        self.head = read_head(self.first)
        del self._buffer[:size]
        if (self.head.size or 0) > LARGEST:
            raise HookUnreadable(f"{self.head.size:,} bytes; {LARGEST:,} is the most")
        return True

    def _expire(self) -> None:
        self._refuse(TimeoutError("it did not say in time who calls"))
        self.close()

    @property
    def has_given_up(self) -> bool:
        """Whether a hook program has hung up; one of the first version always seems so."""
        return self.has_closed and self.head.size is not None

    @property
    def _is_complete(self) -> bool:
        if self.head.size is None:
            return self.has_closed
        return len(self._buffer) >= self.head.size

    @property
    def _has_enough(self) -> bool:
        """Whether nothing more is to be kept for now. A whole call may still be hung up."""
        if self._is_heard:
            return bool(self._buffer)
        if not self._is_complete:
            return not self._is_asked
        return self.head.size is not None and len(self._buffer) > self.head.size

    async def rest(self) -> bytes:
        """Read the rest of the call. Raises ``HookUnreadable`` if there is none, or too much.

        Without a size, as from a hook program of the first version, it ends where the caller
        closes its side.
        """
        if not self._is_complete:
            self._is_asked = True
            self.transport.resume_reading()
            async with asyncio.timeout(PATIENCE):
                await self._hear_all()
        size = len(self._buffer) if self.head.size is None else self.head.size
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._is_heard = True
        return body

    async def _hear_all(self) -> None:
        while not self._is_complete:
            if self.has_closed:
                got, size = len(self._buffer), self.head.size
                raise HookUnreadable(f"it is no call: {got} bytes of {size} came")
            if len(self._buffer) > LARGEST:
                raise HookUnreadable(f"more than {LARGEST:,} bytes")
            self._news.clear()
            await self._news.wait()

    async def left(self) -> None:
        """Wait until a caller has hung up, gently or not; or says more, which none does."""
        while not (self.has_closed or self._buffer):
            self._news.clear()
            await self._news.wait()
