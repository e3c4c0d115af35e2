"""The output of a driven Claude Code, when many messages or parts of one come at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from rookery.agents.claude.driver.line_chunks import LineChunks
from rookery.agents.claude.driver.process import ClaudeProcess
from rookery.drivers.driver import DriverError, DriverLaunch

pytestmark = pytest.mark.anyio

QUESTION = {"type": "control_request", "request_id": "1"}


def said(text: str) -> dict[str, Any]:
    return {"type": "assistant", "text": text}


async def told_by(folder: Path, output: str) -> tuple[list[object], str]:
    """Run a program that writes so much at once; return what is passed on, and the error."""
    told: list[object] = []

    def take(messages: Sequence[Mapping[str, Any]]) -> None:
        told.extend(messages)

    argv = (sys.executable, "-c", f"print({output!r}, end='')")
    process = ClaudeProcess(DriverLaunch("it", argv, dict(os.environ), folder), take)
    await process.connect()
    error = ""
    try:
        async for message in process.read_messages():
            told.append(("control", message))  # noqa: PERF401 - take adds in between
    except DriverError as raised:
        error = str(raised)
    await process.close()
    return told, error


async def test_what_was_said_before_a_question_is_passed_on_before_it(tmp_path: Path) -> None:
    messages = (said("a"), said("b"), QUESTION, said("c"))
    output = "".join(f"{json.dumps(each)}\n" for each in messages)

    told, _ = await told_by(tmp_path, output)

    assert told == [said("a"), said("b"), ("control", QUESTION), said("c")]


async def test_messages_before_a_line_that_is_no_json_are_passed_on(tmp_path: Path) -> None:
    output = f"loading\n{json.dumps(said('a'))}\n\n{{what\n{json.dumps(said('b'))}\n"

    told, error = await told_by(tmp_path, output)

    assert told == [said("a")]
    assert error == "Claude Code wrote a line that is not JSON: {what"


async def test_half_a_character_does_not_end_the_session(tmp_path: Path) -> None:
    output = f"{json.dumps(said('a'))}\n{json.dumps(said(chr(0xD83D)))}\n"

    told, error = await told_by(tmp_path, output)

    assert told == [said("a"), said("\ud83d")]
    assert error == "Claude Code exited with status 0."


async def test_lines_are_returned_once_they_are_whole() -> None:
    stream = asyncio.StreamReader()
    lines = LineChunks(stream, max_line_bytes=100)
    stream.feed_data(b"one\ntwo\nth")
    assert await lines.read() == b"one\ntwo\n"

    waiting = asyncio.ensure_future(lines.read())
    for part in (b"r", b"ee", b"\nrest"):
        stream.feed_data(part)
        await checkpoint()
    assert await waiting == b"three\n"

    stream.feed_eof()
    assert [await lines.read(), await lines.read()] == [b"rest", b""]


async def test_a_line_that_never_ends_is_refused() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(b"x" * 101)

    with pytest.raises(ValueError, match="too long"):
        await LineChunks(stream, max_line_bytes=100).read()
