"""Connections at the HTTP doors: how long an unknown caller can hold one, and how much."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import cast

import anyio
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from rookery.api import peer_connections
from rookery.api.held_bodies import HeldBodies
from rookery.api.peer_connections import TOO_MUCH_AT_ONCE, OurPeers

pytestmark = [pytest.mark.anyio, pytest.mark.spec("K1", "K4")]

#: Seconds in which something must happen, on a busy machine.
SOON = 40.0

#: Longer than any test: a deadline that must not be what closes a connection.
NEVER = 600.0

WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
WITH_TOKEN = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
LONG = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer everything; take a caller with any token for a known one."""
    if any(name == b"authorization" for name, _ in scope["headers"]):
        scope["identity"] = "somebody"
    await PlainTextResponse("here")(scope, receive, send)


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer once the whole body has arrived."""
    while (await receive()).get("more_body"):
        pass
    await PlainTextResponse("here")(scope, receive, send)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(
    protocol: type[OurPeers], held: HeldBodies | None = None
) -> AsyncIterator[int]:
    """Serve an app on loopback, with keep-alive that never ends by itself.

    If ``held`` is given, the app reads bodies, and these are counted there.
    """
    http = cast(type[asyncio.Protocol], partial(protocol, held=held))
    config = uvicorn.Config(
        read_all if held else app,
        http=http,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=600,
    )
    server = _Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield listening.getsockname()[1]
            server.should_exit = server.force_exit = True


class Hasty(OurPeers):
    head_timeout_s = body_timeout_s = 0.6


class Patient(OurPeers):
    head_timeout_s = body_timeout_s = NEVER


class Small(Patient):
    max_connections = 3


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> bytes:
        async with asyncio.timeout(SOON):
            head = await self.reader.readuntil(b"\r\n\r\n")
            await self.reader.readexactly(4)
        return head.split(b" ")[1]

    async def error(self) -> tuple[bytes, str]:
        """Return the status and the text of an answer that is an error."""
        async with asyncio.timeout(SOON):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = json.loads(await self.reader.readexactly(length))
        return head.split(b" ")[1], body["error"]["message"]

    async def is_cut_off(self) -> bool:
        """Wait for the end of the connection; false if something was said instead."""
        with suppress(ConnectionError):
            async with asyncio.timeout(SOON):
                return await self.reader.read(1) == b""
        return True


@asynccontextmanager
async def caller(port: int) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize("partial", [b"", b"G", b"GET / HTTP/1.1\r\nHost:"])
async def test_a_head_that_does_not_end_closes_the_connection(partial: bytes) -> None:
    async with served(Hasty) as port, caller(port) as slow:
        slow.send(partial)

        assert await slow.is_cut_off()


@pytest.mark.parametrize("partial", [b"G", b"GET / HTTP/1.1\r\nHost:", b"\r\n", LONG])
async def test_every_request_of_a_connection_has_its_deadline(partial: bytes) -> None:
    async with served(Hasty) as port, caller(port) as slow:
        for _ in range(2):
            slow.send(WHOLE)
            assert await slow.answer() == b"200"
        slow.send(partial)
        if partial == LONG:
            assert await slow.answer() == b"200"

        assert await slow.is_cut_off()


async def test_a_second_head_that_comes_with_the_first_request_has_its_deadline() -> None:
    async with served(Hasty) as port, caller(port) as slow:
        slow.send(WHOLE + b"GET / HT")
        assert await slow.answer() == b"200"

        assert await slow.is_cut_off()


async def test_a_kept_connection_outlives_the_deadlines_of_its_requests() -> None:
    async with served(Hasty) as port, caller(port) as calm, caller(port) as slow:
        calm.send(WHOLE)
        assert await calm.answer() == b"200"
        slow.send(b"G")
        assert await slow.is_cut_off()  # so its deadline would be over, too

        calm.send(WHOLE)
        assert await calm.answer() == b"200"


async def test_a_head_that_is_too_long_is_cut_off_before_it_ends() -> None:
    async with served(Patient) as port, caller(port) as wordy:
        wordy.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        wordy.send(b"X: " + b"y" * (peer_connections.LONGEST_HEAD + 1))

        assert await wordy.is_cut_off()


async def test_a_connection_without_a_token_makes_room_for_a_new_one() -> None:
    async with (
        served(Small) as port,
        caller(port) as known,
        caller(port) as first,
        caller(port) as second,
    ):
        for each, request in ((known, WITH_TOKEN), (first, WHOLE), (second, WHOLE)):
            each.send(request)
            assert await each.answer() == b"200"
        first.send(b"GET /h")

        async with caller(port) as owner:
            owner.send(WITH_TOKEN)
            assert await owner.answer() == b"200"
            assert await first.is_cut_off()
        second.send(WHOLE)
        assert await second.answer() == b"200"
        known.send(WHOLE)
        assert await known.answer() == b"200"


async def test_where_all_have_shown_a_token_a_new_connection_is_refused() -> None:
    async with (
        served(Small) as port,
        caller(port) as one,
        caller(port) as two,
        caller(port) as three,
    ):
        known = (one, two, three)
        for each in known:
            each.send(WITH_TOKEN)
            assert await each.answer() == b"200"

        async with caller(port) as more:
            more.send(WITH_TOKEN)
            assert await more.is_cut_off()
        for each in known:
            each.send(WHOLE)
            assert await each.answer() == b"200"


#: Bytes of all bodies together in these tests; and the head of a body of half of them.
HELD = 400_000
HALF = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (HELD // 2)


@pytest.mark.spec("K1")
async def test_of_too_many_unfinished_bodies_the_largest_is_refused_with_a_reason() -> None:
    async with (
        served(Patient, HeldBodies(HELD)) as port,
        caller(port) as modest,
        caller(port) as large,
        caller(port) as larger,
    ):
        modest.send(LONG + b"a")
        large.send(HALF + b"a" * (HELD // 2 - 1_000))
        larger.send(HALF + b"a" * (HELD // 2 - 100))
        modest.send(b"a" * 500)
        large.send(b"a" * 700)

        assert await larger.error() == (b"503", TOO_MUCH_AT_ONCE)
        modest.send(b"a" * 499)
        large.send(b"a" * 300)
        assert await modest.answer() == b"200"
        assert await large.answer() == b"200"


@pytest.mark.spec("K1")
async def test_a_refused_client_may_end_its_body_before_it_reads_why() -> None:
    async with served(Patient, HeldBodies(1_000)) as port, caller(port) as greedy:
        greedy.send(HALF)
        for _ in range(HELD // 2 // 1_000):
            greedy.send(b"a" * 1_000)
            await greedy.writer.drain()

        assert await greedy.error() == (b"503", TOO_MUCH_AT_ONCE)
        assert await greedy.is_cut_off()


@pytest.mark.spec("K1")
async def test_bodies_that_arrived_or_were_given_up_do_not_count() -> None:
    async with served(Patient, HeldBodies(HELD)) as port, caller(port) as steady:
        for _ in range(5):
            async with caller(port) as gone:
                gone.send(HALF + b"a" * (HELD // 4))
            steady.send(HALF + b"a" * (HELD // 2))
            assert await steady.answer() == b"200"
