"""Who is at the other end of a unix socket, as the kernel knows it."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Bytes of a request's first lines, and seconds for them to come.
LONGEST_HEAD, HEAD_SECONDS = 64 * 1024, 10.0

#: Connections at once on loopback: browsers and programs of one person.
MOST_CONNECTIONS = 256


@dataclass(frozen=True, slots=True)
class Peer:
    pid: int
    is_ours: bool  #: a process of our own user


def peer(connection: socket.socket) -> Peer:
    """Ask the kernel. Where it cannot say, the socket's mode is all there is."""
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(0, is_ours=True)
    size = struct.calcsize("3i")
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, user, _ = struct.unpack("3i", told)
    return Peer(pid, is_ours=user == os.getuid())


class OurPeers(HttpToolsProtocol):
    """HTTP that hangs up on other users and on floods, and tells the app who asks.

    On loopback anybody on this computer may knock: before they have shown a token, they get
    neither many connections, nor much time, nor much room.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head, self._head = True, 0  #: and how many bytes it has so far
        self._hurry = self.loop.call_later(HEAD_SECONDS, transport.abort)
        connection = transport.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            found = peer(connection)
            self.client = ("unix", found.pid)
            if not found.is_ours:
                transport.abort()
        elif len(self.connections) > MOST_CONNECTIONS:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
            # What comes with the head may already be body, which has a limit of its own.
            if self._head > LONGEST_HEAD and b"\r\n\r\n" not in data:
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._hurry.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._hurry.cancel()
        super().connection_lost(exc)
