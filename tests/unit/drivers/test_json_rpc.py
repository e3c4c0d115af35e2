from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from rookery.drivers.driver import AnswerLost, DriverError
from rookery.drivers.json_rpc import RequestRefused, RpcClient

pytestmark = pytest.mark.anyio


class Peer:
    """Plays the server, and takes what the client passes on."""

    def __init__(self) -> None:
        self.output = asyncio.StreamReader()
        self.input = Pipe()
        self.taken: list[tuple[object, ...]] = []
        self.client = RpcClient(self.output, self.input, self)  # type: ignore[arg-type]

    async def notified(self, method: str, params: Mapping[str, Any]) -> None:
        self.taken.append((method, params))

    def requested(self, number: int | str, method: str, params: Mapping[str, Any]) -> None:
        self.taken.append((number, method, params))

    def send(self, *messages: object) -> None:
        for message in messages:
            self.output.feed_data(json.dumps(message).encode() + b"\n")


class Pipe:
    def __init__(self) -> None:
        self.lines: list[Any] = []

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def is_closing(self) -> bool:
        return False


async def test_results_find_their_requests_and_errors_are_raised() -> None:
    peer = Peer()
    reading = asyncio.create_task(peer.client.read())
    first = asyncio.create_task(peer.client.call("one", {}))
    second = asyncio.create_task(peer.client.call("two", {"a": 1}))
    await anyio.lowlevel.checkpoint()
    peer.send({"id": 2, "result": {"b": 2}}, {"id": 1, "error": {"message": "No."}})

    assert await second == {"b": 2}
    with pytest.raises(RequestRefused, match=r"No\."):
        await first
    assert peer.input.lines[1] == {"id": 2, "method": "two", "params": {"a": 1}}
    reading.cancel()


async def test_a_result_is_known_before_what_the_server_sends_next() -> None:
    peer = Peer()
    call = asyncio.create_task(
        peer.client.call("one", {}, accepted=lambda result: peer.taken.append(("result",)))
    )
    await anyio.lowlevel.checkpoint()
    peer.send({"id": 1, "result": {}}, {"method": "next", "params": {}})
    peer.output.feed_eof()
    await peer.client.read()

    assert peer.taken == [("result",), ("next", {})]
    assert await call == {}


async def test_requests_of_the_server_are_passed_on_with_their_number() -> None:
    peer = Peer()
    peer.send({"method": "may-i", "id": 0, "params": {"x": 1}})
    peer.output.feed_eof()
    await peer.client.read()
    peer.client.reply(0, {"yes": True})
    peer.client.refuse("a", "No.")

    assert peer.taken == [(0, "may-i", {"x": 1})]
    assert peer.input.lines == [
        {"id": 0, "result": {"yes": True}},
        {"id": "a", "error": {"code": -32601, "message": "No."}},
    ]


async def test_the_end_of_the_server_fails_what_waits() -> None:
    peer = Peer()
    call = asyncio.create_task(peer.client.call("one", {}))
    await anyio.lowlevel.checkpoint()
    peer.output.feed_eof()
    await peer.client.read()

    with pytest.raises(AnswerLost, match="has ended"):
        await call  # the server may have got it
    with pytest.raises(DriverError, match="has ended") as unsent:
        await peer.client.call("two", {})
    assert not isinstance(unsent.value, AnswerLost)


@pytest.mark.parametrize("line", [b"not JSON\n", b"[]\n", b'{"neither": 1}\n', b"x" * 200_000])
async def test_a_line_that_is_no_message_ends_the_reading(line: bytes) -> None:
    peer = Peer()
    peer.output.feed_data(line)
    peer.output.feed_eof()

    with pytest.raises(DriverError, match="the agent sent a line"):
        await peer.client.read()
