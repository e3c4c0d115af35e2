"""A hook program's call is read however it comes, and never more of it than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from rookery.api import hook_line
from rookery.api.hook_line import LARGEST, HeldBytes, HookLine
from rookery.api.spool import MAX_LINE_BYTES
from rookery.model.errors import HookUnreadable

pytestmark = [pytest.mark.anyio, pytest.mark.spec("C3", "K4")]

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 30.0

#: Bytes that all calls under way may hold.
MOST = 1_000_000

HEAD = b"v2 k demo %d - - 1 -\n"


class Door:
    """Takes connections, and lets a test see what comes of each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "door"
        self.begun: asyncio.Queue[HookLine] = asyncio.Queue()
        self.refused: asyncio.Queue[Exception] = asyncio.Queue()
        self.held = HeldBytes(MOST)

    def make(self) -> HookLine:
        return HookLine(self.begun.put_nowait, self.refused.put_nowait, self.held)

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


async def left(line: HookLine) -> None:
    async with asyncio.timeout(SOON):
        await line.left()


async def test_a_call_that_comes_whole_is_read(door: Door) -> None:
    async with door.call(HEAD % 2 + b"{}"):
        line = await door.line()

        assert (line.head.key, line.head.agent, line.take_body()) == ("k", "demo", b"{}")
        assert line.caller.is_ours
        line.close()


async def test_a_call_that_comes_byte_by_byte_is_read(door: Door) -> None:
    async with door.call() as writer:
        for byte in HEAD % 3:
            writer.write(bytes([byte]))
            await writer.drain()
            await checkpoint()
        for byte in b"abc":
            await checkpoint()
            writer.write(bytes([byte]))
            await writer.drain()
        line = await door.line()

        assert line.take_body() == b"abc"
        line.close()


async def test_a_call_without_a_size_ends_where_its_caller_closes(door: Door) -> None:
    async with door.call(b"k demo - - 12\n", b"{}") as writer:
        writer.write_eof()
        line = await door.line()

        assert line.take_body() == b"{}"
        assert line.has_closed
        line.close()


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_a_first_line_that_is_too_long_is_refused(door: Door, end: bytes) -> None:
    async with door.call(b"x" * (MAX_LINE_BYTES + 1) + end):
        assert "too long" in str(await door.error())


async def test_more_than_a_call_may_have_is_read_past_and_not_kept(door: Door) -> None:
    event = b'"hook_event_name": "PreToolUse"'
    half = LARGEST // 2
    parts = (event[:9], event[9:] + b"x" * half, b"x" * (LARGEST + 9 - half - len(event)))

    async with door.call(HEAD % (LARGEST + 9), *parts):
        line = await door.line()

        assert line.take_body() == b""
        assert line.events_of_oversized == {"PreToolUse"}
        line.close()


async def test_more_than_a_call_may_have_that_does_not_come_whole_is_refused(
    door: Door,
) -> None:
    async with door.call(HEAD % (LARGEST + 9), b"x" * (LARGEST + 8)) as writer:
        writer.close()

        assert "incomplete call" in str(await door.error())


async def test_a_caller_that_says_nothing_and_leaves_is_refused(door: Door) -> None:
    async with door.call() as writer:
        writer.write_eof()

        assert isinstance(await door.error(), HookUnreadable)


async def test_a_caller_that_leaves_in_the_middle_has_made_no_call(door: Door) -> None:
    async with door.call(HEAD % 9 + b"half") as writer:
        writer.close()

        assert "incomplete call" in str(await door.error())


@pytest.mark.parametrize("said", [b"v2 k demo", HEAD % 9 + b"half"])
async def test_a_caller_that_is_too_slow_is_not_waited_for(
    door: Door, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(hook_line, "CALL_TIMEOUT_SECONDS", 0.05)
    async with door.call(said):
        assert isinstance(await door.error(), TimeoutError)


async def test_the_largest_unfinished_call_makes_room_for_others(door: Door) -> None:
    sent = {"large": MOST - 100_000, "small": 90_000}
    async with (
        door.call(HEAD % LARGEST, b"x" * sent["large"]),
        door.call(HEAD % LARGEST, b"x" * sent["small"]) as small,
        door.call(HEAD % (MOST // 2), b"x" * (MOST // 2)),
    ):
        why = await door.error()
        whole = await door.line()
        small.write(b"x" * (LARGEST - sent["small"]))
        refused = await door.error()

        assert "too many large calls" in str(why)
        assert len(whole.take_body()) == MOST // 2
        # It alone is more than all calls may hold here.
        assert "too many large calls" in str(refused)
        whole.close()


async def test_calls_that_were_answered_hold_nothing(door: Door) -> None:
    for _ in range(5):
        async with door.call(HEAD % (MOST // 2), b"x" * (MOST // 2)):
            line = await door.line()
            line.take_body()
            line.close()

    assert door.refused.empty()


@pytest.mark.parametrize("how", ["close", "more", "eof"])
async def test_that_a_caller_waits_no_more_is_seen(door: Door, how: str) -> None:
    async with door.call(HEAD % 2 + b"{}") as writer:
        line = await door.line()
        line.take_body()
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
