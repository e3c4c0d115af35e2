"""Serve the operations on a unix socket for this user alone, and on loopback."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import uvicorn
from anyio.abc import TaskGroup

from rookery.api.held_bodies import HeldBodies
from rookery.api.http import build_app
from rookery.api.own_sockets import OwnSocket
from rookery.api.peer_connections import OurPeers
from rookery.api.request_checks import Guard
from rookery.http_port import forget
from rookery.operations.context import Context
from rookery.ports.clock import Clock

#: Seconds for open requests to finish when the daemon stops.
SHUTDOWN_TIMEOUT_SECONDS = 2


#: Sent with every response: it is for the caller only, must not be cached, and is not a page.
HEADERS = [
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
]


@asynccontextmanager
async def opened(context: Context) -> AsyncIterator[None]:
    """Serve the operations while the context is open: on a unix socket and on loopback."""
    app, loopback = build_app(context), context.loopback
    port = loopback.listen(context.settings.http)
    loopback.write_down(context.home)
    async with anyio.create_task_group() as tasks:
        servers = _Servers(tasks)
        unix = _UnixServer(context.home.door, Guard(app, context, transport="unix"), servers)
        await unix.listen()
        if port:
            servers.start(Guard(app, context, transport="tcp", names=loopback.hosts), port)
        own_socket = OwnSocket(context.home, unix.path, unix.listen)
        keeping = anyio.CancelScope()
        tasks.start_soon(_keep, own_socket, context.journal.clock, keeping)
        try:
            yield
        finally:
            keeping.cancel()
            context.streams.close_all()
            servers.stop()
            _close(own_socket)
            forget(context.home)


async def _keep(own_socket: OwnSocket, clock: Clock, scope: anyio.CancelScope) -> None:
    with scope:
        await own_socket.keep(clock)


@dataclass(slots=True)
class _Servers:
    """The servers that were started; they stop together."""

    tasks: TaskGroup
    held: HeldBodies = field(default_factory=HeldBodies)  #: of all connections
    _all: list[_Server] = field(default_factory=list)
    _is_stopped: bool = False

    def start(self, guard: Guard, listening: socket.socket) -> _Server:
        server = _Server(_config(guard, self.held))
        # The socket may be found to be missing at the very moment at which all stop.
        server.should_exit = self._is_stopped
        self._all.append(server)
        self.tasks.start_soon(server.serve, [listening])
        return server

    def stop(self) -> None:
        self._is_stopped = True
        for server in self._all:
            server.should_exit = True


@dataclass(slots=True)
class _UnixServer:
    path: Path
    guard: Guard
    servers: _Servers
    _listening: _Server | None = None

    async def listen(self) -> None:
        """Bind the socket. Connections of an earlier socket, whose file is gone, stay open."""
        listening = _listen(self.path)
        if self._listening:
            self._listening.close_listeners()
        self._listening = self.servers.start(self.guard, listening)


def _config(guard: Guard, held: HeldBodies) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=cast(type[asyncio.Protocol], partial(OurPeers, held=held)),
        ws=cast(type[asyncio.Protocol], _websocket),
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=HEADERS,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )


def _websocket(**given: Any) -> asyncio.Protocol:  # noqa: ANN401 - uvicorn's own
    """Make the protocol of a WebSocket. Imported for the first one, not at every start."""
    loaded = importlib.import_module("uvicorn.protocols.websockets.websockets_sansio_impl")
    protocol: asyncio.Protocol = loaded.WebSocketsSansIOProtocol(**given)
    return protocol


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the daemon."""
        yield

    def close_listeners(self) -> None:
        """Accept no more connections; open ones stay."""
        for each in self.servers if self.started else ():
            each.close()


def _close(own_socket: OwnSocket) -> None:
    """Remove the socket's file, unless another socket has replaced it."""
    if own_socket.is_in_place:
        own_socket.path.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(512)
    listening.setblocking(False)
    return listening
