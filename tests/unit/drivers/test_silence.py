"""A turn in which nothing is reported for a while."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from rookery.drivers.commands import AgentAnswer, Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import (
    Asked,
    Event,
    FellSilent,
    PromptTaken,
    ToolBegan,
    ToolEnded,
)

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G5")]

#: Passes of the event loop, in which a timer without a delay fires several times over.
PASSES = 10


async def silences_after(folder: Path, *reported: Event, seconds: float = 0.0) -> int:
    """Report events, and return how often a silence is reported after them."""
    path = folder / "events"
    start = Start("s", "scripted", (), {}, str(folder), {}, silence_seconds=seconds)
    session = DrivenSession(start, EventWriter(path), lambda: None)
    for event in reported:
        session.report(event)
    for _ in range(PASSES):
        await checkpoint()
    return silences(path)


def silences(path: Path) -> int:
    return sum(isinstance(each.event, FellSilent) for each in EventReader(path).read())


async def test_a_silence_in_a_turn_is_reported_once(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, PromptTaken("go")) == 1


async def test_a_running_tool_is_no_silence(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, PromptTaken("go"), ToolBegan("1", "Bash")) == 0


async def test_a_silence_after_a_tool_is_reported(tmp_path: Path) -> None:
    events = (PromptTaken("go"), ToolBegan("1", "Bash"), ToolEnded("1", "Bash"))
    assert await silences_after(tmp_path, *events) == 1


async def test_without_a_turn_there_is_no_silence(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, ToolEnded("1", "Bash")) == 0


async def test_a_silence_that_is_shorter_than_the_setting_is_not_reported(
    tmp_path: Path,
) -> None:
    assert await silences_after(tmp_path, PromptTaken("go"), seconds=60.0) == 0


async def test_an_open_question_is_no_silence(tmp_path: Path) -> None:
    path = tmp_path / "events"
    start = Start("s", "scripted", (), {}, str(tmp_path), {}, silence_seconds=0.0)
    session = DrivenSession(start, EventWriter(path), lambda: None)
    asking = asyncio.ensure_future(session.ask(Asked("1", "AskUserQuestion", {})))
    await checkpoint()
    session.report(PromptTaken("go"))
    for _ in range(PASSES):
        await checkpoint()
    (asked,) = [
        each.event for each in EventReader(path).read() if isinstance(each.event, Asked)
    ]
    session.answer(AgentAnswer("s", asked.request, allow=True))
    await asking
    while_open = silences(path)
    for _ in range(PASSES):
        await checkpoint()

    assert (while_open, silences(path)) == (0, 1)


def test_a_silence_lasts_15_seconds_unless_the_configuration_says_otherwise() -> None:
    assert Start("s", "scripted", (), {}, "", {}).silence_seconds == 15.0
