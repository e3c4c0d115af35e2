"""A hook program's call is read however it comes, and never more of it than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from rookery.gateway import hook_line
from rookery.gateway.hook_line import LARGEST, HookLine
from rookery.gateway.spool import MAX_LINE_BYTES
from rookery.model.errors import HookUnreadable

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C3", "K4")]

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 30.0

HEAD = b"v2 k demo %d - - 1 -\n"


class Door:
    """Takes connections, and lets a test see what comes of each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "door"
        self.begun: asyncio.Queue[HookLine] = asyncio.Queue()
        self.refused: asyncio.Queue[Exception] = asyncio.Queue()

    def make(self) -> HookLine:
        return HookLine(self.begun.put_nowait, self.refused.put_nowait)

    async def line(self) -> HookLine:
        async with asyncio.timeout(SOON):
            return await self.begun.get()

    async def error(self) -> Exception:
        async with asyncio.timeout(SOON):
            return await self.refused.get()

    @asynccontextmanager
    async def call(self, *said: bytes) -> AsyncIterator[asyncio.StreamWriter]:
        _, writer = await asyncio.open_unix_connection(self.path)
        for part in said:
            writer.write(part)
            await writer.drain()
        try:
            yield writer
        finally:
            writer.close()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    door = Door(tmp_path)
    server = await asyncio.get_running_loop().create_unix_server(door.make, door.path)
    yield door
    server.close()


async def body(line: HookLine) -> bytes:
    async with asyncio.timeout(SOON):
        return await line.rest()


async def left(line: HookLine) -> None:
    async with asyncio.timeout(SOON):
        await line.left()


async def test_a_call_that_comes_whole_is_read(door: Door) -> None:
    async with door.call(HEAD % 2 + b"{}"):
        line = await door.line()

        assert (line.head.key, line.head.agent, await body(line)) == ("k", "demo", b"{}")
        assert line.caller.is_ours
        line.close()


async def test_a_call_that_comes_byte_by_byte_is_read(door: Door) -> None:
    async with door.call() as writer:
        for byte in HEAD % 3:
            writer.write(bytes([byte]))
            await writer.drain()
            await checkpoint()
        line = await door.line()
        reading = asyncio.create_task(body(line))
        for byte in b"abc":
            await checkpoint()
            writer.write(bytes([byte]))
            await writer.drain()

        assert await reading == b"abc"
        line.close()


async def test_a_call_without_a_size_ends_where_its_caller_closes(door: Door) -> None:
    async with door.call(b"k demo - - 12\n", b"{}") as writer:
        line = await door.line()
        writer.write_eof()

        assert await body(line) == b"{}"
        assert line.has_closed
        line.close()


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_a_first_line_that_is_too_long_is_refused(door: Door, end: bytes) -> None:
    async with door.call(b"x" * (MAX_LINE_BYTES + 1) + end):
        assert "too long" in str(await door.error())


async def test_more_than_a_call_may_have_is_refused_before_it_is_read(door: Door) -> None:
    async with door.call(HEAD % (LARGEST + 1)):
        assert "is the most" in str(await door.error())


async def test_a_caller_that_says_nothing_and_leaves_is_refused(door: Door) -> None:
    async with door.call() as writer:
        writer.write_eof()

        assert isinstance(await door.error(), HookUnreadable)


async def test_a_caller_that_leaves_in_the_middle_has_made_no_call(door: Door) -> None:
    async with door.call(HEAD % 9 + b"half") as writer:
        line = await door.line()
        writer.close()

        with pytest.raises(HookUnreadable, match="no call"):
            await body(line)
        line.close()


async def test_a_caller_that_is_too_slow_is_not_waited_for(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_line, "PATIENCE", 0.05)
    async with door.call(b"v2 k demo"):
        assert isinstance(await door.error(), TimeoutError)
    monkeypatch.undo()
    async with door.call(HEAD % 9 + b"half"):
        line = await door.line()
        monkeypatch.setattr(hook_line, "PATIENCE", 0.05)
        with pytest.raises(TimeoutError):
            await body(line)
        line.close()


async def test_no_more_is_read_before_it_is_asked_for(door: Door) -> None:
    """Callers that wait for their turn fill no memory."""
    size = 4_000_000
    async with door.call() as writer:
        writer.write(HEAD % size)
        line = await door.line()
        writer.write(b"x" * size)
        for _ in range(100):
            await checkpoint()
        kept = len(line._buffer)  # noqa: SLF001 - how much of it is there

        assert kept < size / 2
        assert await body(line) == b"x" * size
        line.close()


@pytest.mark.parametrize("how", ["close", "more", "eof"])
async def test_that_a_caller_waits_no_more_is_seen(door: Door, how: str) -> None:
    async with door.call(HEAD % 2 + b"{}") as writer:
        line = await door.line()
        await body(line)
        waiting = asyncio.create_task(left(line))
        for _ in range(10):
            await checkpoint()
        waited = not waiting.done()
        if how == "close":
            writer.close()
        elif how == "eof":
            writer.write_eof()
        else:
            writer.write(b"more")

        await waiting
        assert waited
        line.close()
