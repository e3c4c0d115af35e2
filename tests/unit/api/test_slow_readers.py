"""A client that follows events and reads nothing is dropped, on a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

import anyio
import pytest
from anyio import to_thread

from rookery.api import streams
from rookery.api.servers import opened
from rookery.config import Http, Settings
from rookery.home import find_home
from rookery.model.facts import SessionId, TurnEnded
from rookery.operations.context import Context, Streams
from rookery.store import tokens
from rookery.store.journal import Journal
from tests.support.fakes.database import ObservedDatabase
from tests.support.operations import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.spec("I4")]

#: Seconds within which what must happen has happened, also on a busy computer.
SOON = 30

SECRET = tokens.new_secret()

#: Bytes of one event, and how many: together more than all buffers on the way hold.
EVENT_BYTES, EVENTS = 60_000, 60

WEBSOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class ObservedStreams(Streams):
    """Tells when a stream has begun, and when it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.over = anyio.Event(), anyio.Event()

    @contextmanager
    def opened(self, token: str | None) -> Iterator[asyncio.Event]:
        try:
            with super().opened(token) as over:
                self.begun.set()
                yield over
        finally:
            self.over.set()


@pytest.fixture
async def context(
    database: ObservedDatabase, journal: Journal, tmp_path: Path
) -> AsyncIterator[Context]:
    """Have the doors open on a home of its own."""
    desk = Desk(database, journal, Settings(http=Http(enabled=False)))
    await desk.settle("anna")
    keep = partial(tokens.keep_owner, secret=SECRET, at=journal.clock.now())
    await database.write(keep)
    home = find_home({"ROOKERY_HOME": str(tmp_path / "home")})
    home.prepare()
    context = replace(desk.context, home=home, streams=ObservedStreams())
    async with opened(context):
        yield context


def follow(context: Context, headers: str) -> socket.socket:
    """Ask for the events, and read nothing."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(SOON)
    client.connect(str(context.home.door))
    asked = f"GET /v1/events HTTP/1.1\r\nHost: rookery\r\nAuthorization: Bearer {SECRET}\r\n"
    client.sendall(f"{asked}{headers}\r\n".encode())
    return client


def rest_of(client: socket.socket) -> bytes:
    """Read what is still on its way, until the connection is closed."""
    parts = []
    while part := client.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("headers", ["", WEBSOCKET], ids=["sse", "websocket"])
async def test_a_client_that_reads_nothing_is_dropped(
    context: Context, headers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SEND_TIMEOUT_SECONDS", 0.2)
    followed = context.streams
    assert isinstance(followed, ObservedStreams)

    def happen(db: Connection) -> None:
        facts = (
            TurnEnded(SessionId("anna"), f"{n} " + "x" * EVENT_BYTES) for n in range(EVENTS)
        )
        context.journal.append(db, *facts)

    with anyio.fail_after(SOON), closing(follow(context, headers)) as client:
        await followed.begun.wait()
        await context.database.write(happen)
        await followed.over.wait()
        told = await to_thread.run_sync(rest_of, client)

    assert 0 < len(told) < EVENTS * EVENT_BYTES
