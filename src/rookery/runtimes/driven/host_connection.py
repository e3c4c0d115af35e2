"""The daemon's connection to the driver host: commands, their replies, and news of sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

import msgspec

from rookery.drivers.commands import Command, HostCall, HostReply, read_reply, write
from rookery.drivers.host import MAX_LINE_BYTES
from rookery.model.errors import RuntimeFailed, RuntimeUnreachable
from rookery.ports.clock import Clock
from rookery.runtimes.driven.host_process import HostSite, is_listening, read_key, start_host

_log = logging.getLogger(__name__)

#: Seconds for the host to carry out a command: closing an agent takes the longest.
COMMAND_TIMEOUT_SECONDS = 15.0


class HostConnection:
    """Connects to the driver host when it is needed, and starts it if there is none."""

    def __init__(
        self,
        site: HostSite,
        clock: Clock,
        *,
        grown: Callable[[str], None],
        lost: Callable[[], None],
    ) -> None:
        """Call ``grown`` when a session's event file has grown, ``lost`` without a host."""
        self.site = site
        self._clock = clock
        self._grown = grown
        self._lost = lost
        self._lock = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._key = ""
        self._calls: dict[int, asyncio.Future[HostReply]] = {}
        self._last = 0

    async def ask(self, command: Command, *, may_start: bool = False) -> HostReply:
        """Carry out a command. Raises ``RuntimeFailed`` with the host's reason."""
        writer = await self._connected(may_start=may_start)
        self._last += 1
        number = self._last
        future: asyncio.Future[HostReply] = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        try:
            writer.write(write(HostCall(number, self._key, command)))
            async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS):
                reply = await future
        except TimeoutError:
            raise RuntimeUnreachable("the driver host does not answer.") from None
        finally:
            self._calls.pop(number, None)
        if reply.error:
            raise RuntimeFailed(reply.error)
        return reply

    async def _connected(self, *, may_start: bool) -> asyncio.StreamWriter:
        async with self._lock:
            if self._writer and not self._writer.is_closing():
                return self._writer
            if not is_listening(self.site):
                if not may_start:
                    raise RuntimeUnreachable("the driver host does not run.")
                await start_host(self.site, self._clock)
            return await self._connect()

    async def _connect(self) -> asyncio.StreamWriter:
        path = str(self.site.socket)
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=MAX_LINE_BYTES)
        except OSError as error:
            raise RuntimeUnreachable(f"the driver host cannot be reached: {error}") from error
        self._key = read_key(self.site)
        self._writer = writer
        self._reading = asyncio.ensure_future(self._read(reader, writer))
        return writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            while line := await reader.readline():
                self._take(line)
        writer.close()
        for future in self._calls.values():
            if not future.done():
                future.set_exception(RuntimeUnreachable("the driver host is gone."))
        self._lost()

    def _take(self, line: bytes) -> None:
        try:
            reply = read_reply(line)
        except msgspec.MsgspecError as error:
            _log.warning("A reply of the driver host cannot be read: %s", error)
            return
        if not reply.id:
            for session in reply.sessions:
                self._grown(session)
        elif (future := self._calls.get(reply.id)) and not future.done():
            future.set_result(reply)

    async def close(self) -> None:
        if self._reading:
            self._reading.cancel()
        if self._writer:
            self._writer.close()
