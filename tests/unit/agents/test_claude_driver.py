"""The driver ``sdk`` with a program that speaks Claude Code's protocol and misbehaves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from rookery.drivers.commands import Start
from rookery.drivers.driver import DriverError
from rookery.drivers.events import (
    Asked,
    AskingEnded,
    Ended,
    PromptTaken,
    TextAdded,
    ToolEnded,
    TurnOver,
    Up,
    Used,
)
from rookery.model.permissions import Question
from tests.support.driven_session import Driven, driving
from tests.support.paths import SUPPORT
from tests.support.real.rookery import eventually

pytestmark = pytest.mark.anyio

PROGRAM = (sys.executable, "-I", "-S", str(SUPPORT / "scripted_claude.py"))


def start(tmp_path: Path, *, behaves: str = "", **more: Any) -> Start:  # noqa: ANN401 - any
    environment = {"PATH": os.environ["PATH"], "SCRIPTED_CLAUDE": behaves}
    asked = {"session": "it", "driver": "sdk", "argv": PROGRAM, "options": {}, **more}
    return Start(environment=environment, folder=str(tmp_path), **asked)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events"


async def test_prompts_are_answered_one_after_the_other(tmp_path: Path, events: Path) -> None:
    async with driving(start(tmp_path), events) as driven:
        turns = [await driven.ask(f"say: {number};; cost: 0.5") for number in range(3)]

    assert [turn.text for turn in turns] == ["0", "1", "2"]
    assert [each.cost for each in driven.of(Used)] == [500_000] * 3
    assert [each.total_cost for each in driven.of(Used)] == [500_000, 1_000_000, 1_500_000]
    assert driven.events[-1] == Ended("completed", "it was closed")


@pytest.mark.spec("G2")
async def test_a_single_turn_ends_the_session(tmp_path: Path, events: Path) -> None:
    async with driving(start(tmp_path, is_single_turn=True), events) as driven:
        await driven.ask("say: done")
        ended = await driven.ended()

    assert ended == Ended("completed", "its only turn is over")


@pytest.mark.spec("G2")
async def test_a_line_that_is_no_json_ends_the_session_with_the_line(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        turn = await driven.ask("say: a;; garbage: what;; wait:")
        ended = await driven.ended()
        pid = _pid(driven)

    reason = "Claude Code wrote a line that is not JSON: {what"
    assert turn == TurnOver("a", "failed", reason, fails_session=True)
    assert ended == Ended("failed", reason)
    assert pid
    assert not psutil.pid_exists(pid)


@pytest.mark.spec("G2")
async def test_a_program_that_dies_in_a_turn_fails_the_turn_and_the_session(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("say: a;; exit: 3")
        ended = await driven.ended()

    reason = "Claude Code exited with status 3: it gives up"
    assert driven.of(TurnOver) == [TurnOver("a", "failed", reason, fails_session=True)]
    assert ended == Ended("failed", reason)


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("allow", "answers", "reply"),
    [
        (True, {"Name?": ("Ann",)}, {"action": "accept", "content": {"name": "Ann"}}),
        (False, {}, {"action": "decline"}),
        (True, {}, {"action": "cancel"}),  # allowing a form does not fill it in
    ],
)
async def test_the_form_of_an_mcp_server_is_a_question(
    tmp_path: Path,
    events: Path,
    allow: bool,
    answers: dict[str, tuple[str, ...]],
    reply: dict[str, Any],
) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("form: Name?")
        asked = await driven.asked()
        driven.answer(asked, allow, answers=answers)
        turn = await driven.until(TurnOver)

    assert (asked.tool, asked.input["server"]) == ("Elicitation", "asking")
    assert asked.questions == (Question("Name?"),)
    assert json.loads(turn.text) == reply


@pytest.mark.spec("D5", "G3")
async def test_an_interruption_withdraws_the_form_of_an_mcp_server(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("form: Name?")
        asked = await driven.asked()
        await driven.session.interrupt()
        turn = await driven.until(TurnOver)
        after = await driven.ask("say: on")

    assert turn.how == "interrupted"
    assert driven.of(AskingEnded) == [AskingEnded(asked.request)]
    assert after == TurnOver("on")


async def test_a_killed_program_is_reported_with_its_signal(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("wait:")
        await driven.until(PromptTaken)
        pid = _pid(driven)
        assert pid
        os.kill(pid, signal.SIGKILL)
        ended = await driven.ended()

    assert ended == Ended("failed", "Claude Code was killed by SIGKILL.")


@pytest.mark.parametrize(
    ("behaves", "reason"),
    [
        ("hang", "Claude Code did not answer within 0.2 s."),
        ("refuse", "Claude Code exited with status 1: it gives up"),
        ("old", "Claude Code 1.0.9 is too old to be driven: it must be 2.1.226 or newer."),
    ],
)
@pytest.mark.spec("G2")
async def test_a_program_that_does_not_come_up_is_reported(
    tmp_path: Path, events: Path, behaves: str, reason: str
) -> None:
    limit = 0.2 if behaves == "hang" else 30
    started = start(tmp_path, behaves=behaves, options={"start_seconds": limit})
    async with driving(started, events) as driven:
        ended = await driven.ended()

    assert driven.events == [ended]
    assert ended == Ended("failed", reason)


def _pid(driven: Driven) -> int | None:
    return driven.session.driver.pid if driven.session.driver else None


async def test_a_program_that_hangs_at_its_start_can_be_ended(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path, behaves="hang"), events) as driven:
        await asyncio.to_thread(eventually, lambda: _pid(driven))
        await driven.session.close()
        ended = await driven.ended()

    assert ended == Ended("completed", "it was closed")


async def test_a_missing_program_is_named(tmp_path: Path, events: Path) -> None:
    missing = tmp_path / "claude"
    async with driving(start(tmp_path, argv=(str(missing),)), events) as driven:
        ended = await driven.ended()

    assert ended.reason == f"{missing} cannot be run: No such file or directory."


async def test_a_missing_folder_is_named(tmp_path: Path, events: Path) -> None:
    gone = tmp_path / "gone"
    async with driving(start(gone), events) as driven:
        ended = await driven.ended()

    assert ended.reason.endswith(f"{gone}: No such file or directory.")


async def test_large_blocks_and_a_flood_of_errors_do_not_block(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        turn = await driven.ask("errors: 20000;; big: 5000000")

    assert len(turn.text) == 5_000_000
    assert driven.of(TextAdded) == [TextAdded(turn.text)]


async def test_a_permission_is_asked_for_and_its_denial_is_passed_on(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("run: ls;; run: rm")
        driven.answer(await driven.asked(), True)
        driven.answer(await driven.asked(number=2), False, "not that")
        turn = await driven.until(TurnOver)

    assert driven.of(Asked) == [
        Asked("1-call-1", "Bash", {"command": "ls"}, "call-1"),
        Asked("2-call-2", "Bash", {"command": "rm"}, "call-2"),
    ]
    assert [(each.result, each.failed) for each in driven.of(ToolEnded)] == [
        ("ran ls", False),
        ("not that", True),
    ]
    assert turn.text == "not that"


async def test_an_interruption_withdraws_what_was_asked(tmp_path: Path, events: Path) -> None:
    async with driving(start(tmp_path), events) as driven:
        await driven.prompt("run: ls")
        asked = await driven.asked()
        await driven.session.interrupt()
        turn = await driven.until(TurnOver)
        again = await driven.ask("say: on")

    assert turn.how == "interrupted"
    assert driven.of(AskingEnded) == [AskingEnded(asked.request)]
    assert again == TurnOver("on")


@pytest.mark.spec("G1")
@pytest.mark.parametrize("number", [20, 50])
async def test_many_sessions_run_at_once(tmp_path: Path, events: Path, number: int) -> None:
    async with AsyncExitStack() as stack:
        all_driven: list[Driven] = []
        for each in range(number):
            started = start(tmp_path, session=str(each))
            all_driven.append(await stack.enter_async_context(driving(started, events)))
        for turn in range(3):
            asked = (driven.ask(f"say: answer {turn}") for driven in all_driven)
            answers = await asyncio.gather(*asked)
            assert [each.text for each in answers] == [f"answer {turn}"] * number

    for driven in all_driven:
        kinds = [type(each) for each in driven.events]
        assert (kinds[0], kinds[-1]) == (Up, Ended)
        assert (kinds.count(PromptTaken), kinds.count(TurnOver)) == (3, 3)


@pytest.mark.spec("G2")
async def test_a_refused_interruption_is_reported_and_does_not_prevent_the_end(
    tmp_path: Path, events: Path
) -> None:
    async with driving(start(tmp_path, behaves="go-on"), events) as driven:
        await driven.prompt("wait:")
        await driven.until(PromptTaken)
        with pytest.raises(DriverError, match="cannot be interrupted: not now"):
            await driven.session.interrupt()
        await driven.session.close()
        ended = await driven.ended()

    assert ended == Ended("completed", "it was closed")
