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
from rookery.runtimes.driven.host_process import (
    HostSite,
    find_host,
    is_listening,
    read_key,
    start_host,
)

_log = logging.getLogger(__name__)

#: Seconds for the host to carry out a command: closing an agent takes the longest.
COMMAND_TIMEOUT_SECONDS = 15.0


#: Seconds for the host to accept a connection: if it is suspended, its queue may be full.
CONNECT_TIMEOUT_SECONDS = 2.0


class HostGone(RuntimeUnreachable):
    """The runtime has ended, and its sessions with it:"""


class PromptNotPassed(RuntimeFailed):
    """The message was not passed on:"""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final  #: it will never be


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
        self.trouble = ""  #: why the host cannot be asked although it runs; empty if it can

    async def ask(
        self,
        command: Command,
        *,
        may_start: bool = False,
        seconds: float | None = None,
    ) -> HostReply:
        """Carry out a command. Raises ``RuntimeFailed`` with the host's reason.

        ``HostGone`` alone says that the host has ended; after a timeout, for instance, its
        sessions may go on.
        """
        try:
            reply = await self._exchange(
                command, may_start=may_start, seconds=seconds or COMMAND_TIMEOUT_SECONDS
            )
        except HostGone:
            self.trouble = ""
            raise
        except RuntimeUnreachable as error:
            self.trouble = " ".join(map(str, error.args))
            raise
        self.trouble = ""
        if reply.refusal:
            raise PromptNotPassed(reply.error, is_final=reply.refusal == "final")
        if reply.error:
            raise RuntimeFailed(reply.error)
        return reply

    async def _exchange(
        self, command: Command, *, may_start: bool, seconds: float
    ) -> HostReply:
        writer = await self._connected(may_start=may_start)
        self._last += 1
        number = self._last
        future: asyncio.Future[HostReply] = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        try:
            writer.write(write(HostCall(number, self._key, command)))
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise RuntimeUnreachable("the driver host does not answer.") from None
        finally:
            self._calls.pop(number, None)

    async def _connected(self, *, may_start: bool) -> asyncio.StreamWriter:
        async with self._lock:
            if self._writer and not self._writer.is_closing():
                return self._writer
            if not is_listening(self.site):
                await self._require_gone()
                if not may_start:
                    raise HostGone("the driver host does not run.")
                await start_host(self.site, self._clock)
            return await self._connect()

    async def _require_gone(self) -> None:
        """Refuse to go on without a host that runs: a second one would hide its sessions."""
        if host := await asyncio.to_thread(find_host, self.site):
            raise RuntimeUnreachable(
                f"the driver host (pid {host.pid}) runs, but does not listen at"
                f" {self.site.socket}. It restores its socket within seconds."
            )

    async def _connect(self) -> asyncio.StreamWriter:
        path = str(self.site.socket)
        if not (key := read_key(self.site)):
            raise RuntimeUnreachable(
                f"the key of the driver host is gone: {self.site.key}. The host restores it"
                " within seconds."
            )
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                reader, writer = await asyncio.open_unix_connection(path, limit=MAX_LINE_BYTES)
        except TimeoutError:
            raise RuntimeUnreachable("the driver host accepts no connection.") from None
        except OSError as error:
            raise RuntimeUnreachable(f"the driver host cannot be reached: {error}") from error
        self._key, self._writer = key, writer
        self._reading = asyncio.ensure_future(self._read(reader, writer))
        return writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):
            while line := await reader.readline():
                self._take(line)
        writer.close()
        for future in self._calls.values():
            if not future.done():
                future.set_exception(
                    RuntimeUnreachable("the connection to the driver host was lost.")
                )
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
