"""Read one call from a hook program's connection, within limits, and write its answer.

A protocol instead of a pair of streams: most calls arrive whole, and those cost half as much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rookery.api.spool import MAX_LINE_BYTES
from rookery.hook_protocol import MAX_EVENT_BYTES, CallHead, events_in, read_head
from rookery.model.errors import HookUnreadable, RookeryError
from rookery.processes.peers import Peer, peer_of
from rookery.programs.hook import MAX_PAYLOAD_BYTES

#: Bytes of one call: the limit, and above which it counts as large. Most are far smaller.
LARGEST, USUAL = MAX_PAYLOAD_BYTES, 256 * 1024

#: Bytes of all calls that are being read or wait to be processed.
MAX_HELD_BYTES = 4 * LARGEST

#: Seconds for a caller to send its call.
CALL_TIMEOUT_SECONDS = 5.0


class HeldBytes:
    """Counts the bytes of calls in progress, and refuses the largest unfinished one at a limit.

    So a caller that sends much, or announces much and sends nothing, cannot delay a smaller
    call: a denial must reach the hook program before its deadline.
    """

    def __init__(self, most: int = MAX_HELD_BYTES) -> None:
        self._most = most
        self._held: dict[HookLine, int] = {}
        self._total = 0

    def add(self, line: HookLine, size: int) -> None:
        self._held[line] = self._held.get(line, 0) + size
        self._total += size
        while self._total > self._most and (largest := self._largest_unfinished()):
            largest.give_up(HookUnreadable("too many large calls arrive at the same time"))

    def release(self, line: HookLine) -> None:
        self._total -= self._held.pop(line, 0)

    def _largest_unfinished(self) -> HookLine | None:
        unfinished = (line for line in self._held if not line.is_complete)
        return max(unfinished, key=self._held.__getitem__, default=None)


class HookLine(asyncio.Protocol):
    """Reads a call, and starts to answer it once it is complete."""

    transport: asyncio.Transport
    caller: Peer
    first: bytes  #: the line from which ``head`` was read
    head: CallHead
    body = b""
    #: The events that a call may be of whose payload is too large, and so was not kept; None if
    #: it was kept.
    events_of_oversized: set[str] | None = None

    def __init__(
        self,
        begin: Callable[[HookLine], None],
        refuse: Callable[[RookeryError | OSError], None],
        held: HeldBytes,
    ) -> None:
        self._begin = begin
        self._refuse = refuse
        self._held = held
        self._buffer = bytearray()
        self._has_head = False
        self._skipped = self._overlap = 0  #: bytes of a payload that is too large
        self.is_complete = False  #: the whole call was read
        #: Set once more data has come or the caller has closed its side; most calls need none.
        self._news: asyncio.Event | None = None
        self.has_closed = False  #: the caller sends no more

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        late = TimeoutError("it did not come in time")
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(CALL_TIMEOUT_SECONDS, self.give_up, late)
        try:
            self.caller = peer_of(transport.get_extra_info("socket"))
        except OSError as error:
            self.give_up(error)
            return
        if not self.caller.is_ours:
            self.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()
        if self.is_complete:
            if self._buffer:  # data after the call is not kept
                self.transport.pause_reading()
            self._wake()
        elif not self.transport.is_closing() and self.events_of_oversized is None:
            self._held.add(self, len(data))

    def eof_received(self) -> bool:
        self.has_closed = True
        self._advance()
        self._wake()
        return True  # keeps the connection open for the answer

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_closed = True
        self._deadline.cancel()
        self._held.release(self)
        self._wake()

    def write(self, said: bytes) -> None:
        self.transport.write(said)

    def close(self) -> None:
        """Close the connection once all written data is sent."""
        self._deadline.cancel()
        self._held.release(self)
        self.transport.close()

    def give_up(self, why: RookeryError | OSError) -> None:
        """Refuse a call that was not read completely: its hook program spools it."""
        self._refuse(why)
        self._buffer.clear()
        self.close()

    def take_body(self) -> bytes:
        """Return the payload, and keep no reference to it."""
        body, self.body = self.body, b""
        self._held.release(self)
        return body

    def _advance(self) -> None:
        """Parse the received bytes; start the answer once complete, or refuse the call."""
        if self.is_complete or self.transport.is_closing():
            return
        try:
            self._has_head = self._has_head or self._read_head()
            self.is_complete = self._has_head and self._read_body()
        except HookUnreadable as error:
            self.give_up(error)
            return
        if self.is_complete:
            self._deadline.cancel()
            self._begin(self)

    def _read_head(self) -> bool:
        """Read the first line. Return false if it is incomplete. Raises ``HookUnreadable``."""
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
            self.events_of_oversized = set()
        return True

    @property
    def has_given_up(self) -> bool:
        """Return whether the hook program has left. False for version 0, which half-closes."""
        return self.has_closed and self.head.size is not None

    def _read_body(self) -> bool:
        """Read the payload. Return false if it is incomplete. Raises ``HookUnreadable``.

        Without a size, as from a hook program of version 0, it ends where the caller closes
        its side.
        """
        got, size = len(self._buffer), self.head.size
        if size is None:
            if got > LARGEST:
                raise HookUnreadable(f"more than {LARGEST:,} bytes")
            if not self.has_closed:
                return False
            size = got
        if self.events_of_oversized is not None:
            return self._skip_body(self.events_of_oversized, size)
        if got < size:
            if self.has_closed:
                raise HookUnreadable(f"incomplete call: {got} bytes of {size} came")
            return False
        self.body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return True

    def _skip_body(self, events: set[str], size: int) -> bool:
        """Read past a payload that is too large: its hook program must get an answer.

        Without one it would give the answer for an absent daemon, which may let the call run.
        """
        self._skipped += len(self._buffer) - self._overlap
        events |= events_in(self._buffer)
        del self._buffer[:-MAX_EVENT_BYTES]
        self._overlap = len(self._buffer)
        if self._skipped < size and self.has_closed:
            raise HookUnreadable(f"incomplete call: {self._skipped} bytes of {size} came")
        if self._skipped < size:
            return False
        self._buffer.clear()
        return True

    async def left(self) -> None:
        """Wait until the caller disconnects, cleanly or not; or sends more, which none does."""
        while not (self.has_closed or self._buffer):
            self._news = asyncio.Event()
            await self._news.wait()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
