"""The driver ``codex`` with a program that speaks Codex's protocol and misbehaves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rookery.drivers.commands import Start
from rookery.drivers.events import Ended, TurnOver
from tests.support.driven_session import driving
from tests.support.paths import SUPPORT

pytestmark = pytest.mark.anyio

PROGRAM = (sys.executable, "-I", "-S", str(SUPPORT / "scripted_codex.py"))


def start(tmp_path: Path) -> Start:
    return Start(
        session="it",
        driver="codex",
        argv=PROGRAM,
        environment={"PATH": os.environ["PATH"]},
        folder=str(tmp_path),
        options={"method": "thread/start", "params": {}},
    )


async def test_a_program_that_is_closed_ends_by_itself(tmp_path: Path) -> None:
    async with driving(start(tmp_path), tmp_path / "events") as driven:
        turn = await driven.ask("say: hello")

    assert turn == TurnOver("hello")
    assert driven.events[-1] == Ended("completed", "it was closed")


@pytest.mark.spec("G2")
async def test_a_line_that_is_no_message_ends_the_session_of_a_program_that_goes_on(
    tmp_path: Path,
) -> None:
    async with driving(start(tmp_path), tmp_path / "events") as driven:
        await driven.prompt("garbage: npm notice")
        ended = await driven.ended()

    assert ended.outcome == "failed"
    assert "a line that is no JSON: npm notice" in ended.reason


@pytest.mark.spec("G2")
async def test_a_closed_output_ends_the_session_of_a_program_that_goes_on(
    tmp_path: Path,
) -> None:
    async with driving(start(tmp_path), tmp_path / "events") as driven:
        await driven.prompt("close:")
        ended = await driven.ended()

    reason = "The agent's program was killed: its output could not be read any more."
    assert driven.of(TurnOver) == [TurnOver("", "failed", reason, fails_session=True)]
    assert ended == Ended("failed", reason)
