"""Where the operations can be asked for: a socket for this user alone, and loopback."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import uvicorn

from rookery.gateway.guard import Guard
from rookery.gateway.http import build_app
from rookery.gateway.loopback import forget
from rookery.gateway.peers import OurPeers
from rookery.gateway.table import House

#: Seconds for requests under way to end when the daemon stops.
FAREWELL = 2


#: Sent with every answer: it is for the one who asked, is not kept, and is no page.
HEADERS = [
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
]


@asynccontextmanager
async def opened(house: House) -> AsyncIterator[None]:
    """Let the operations be asked for: on a socket for this user alone, and on loopback."""
    app, loopback = build_app(house), house.loopback
    listening = [(Guard(app, house, door="unix"), _listen(house.home.door))]
    if port := loopback.listen(house.settings.http):
        guard = Guard(app, house, door="tcp", names=loopback.hosts)
        listening.append((guard, port))
    loopback.write_down(house.home)
    number = (await anyio.Path(house.home.door).stat()).st_ino
    servers = [(_Server(_config(guard)), door) for guard, door in listening]
    async with anyio.create_task_group() as tasks:
        for server, door in servers:
            tasks.start_soon(server.serve, [door])
        try:
            yield
        finally:
            house.streams.close_all()
            for server, _ in servers:
                server.should_exit = True
            _close(house.home.door, number)
            forget(house.home)


def _config(guard: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=OurPeers,
        ws=cast(type[asyncio.Protocol], _websocket),
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=HEADERS,
        timeout_graceful_shutdown=FAREWELL,
    )


def _websocket(**given: Any) -> asyncio.Protocol:  # noqa: ANN401 - uvicorn's own
    """Make the protocol of a WebSocket; it is loaded for the first one, not at every start."""
    loaded = importlib.import_module("uvicorn.protocols.websockets.websockets_sansio_impl")
    protocol: asyncio.Protocol = loaded.WebSocketsSansIOProtocol(**given)
    return protocol


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the daemon."""
        yield


def _close(door: Path, number: int) -> None:
    """Take the socket away, unless another has taken its place."""
    with contextlib.suppress(FileNotFoundError):
        if door.stat().st_ino == number:
            door.unlink()


def _listen(door: Path) -> socket.socket:
    door.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(door))
    door.chmod(0o600)
    listening.listen(512)
    listening.setblocking(False)
    return listening
