"""Who is at the other end of a unix socket, as the kernel knows it."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


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
    """HTTP that hangs up on other users, and tells the app the process that asks."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            found = peer(connection)
            self.client = ("unix", found.pid)
            if not found.is_ours:
                transport.abort()
