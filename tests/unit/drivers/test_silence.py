"""A turn in which nothing is reported for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from rookery.drivers import driven_session
from rookery.drivers.commands import Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import Event, FellSilent, PromptTaken, ToolBegan, ToolEnded

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G5")]

#: Passes of the event loop, in which a timer without a delay fires several times over.
PASSES = 10


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driven_session, "SILENCE_SECONDS", 0.0)


async def silences_after(folder: Path, *reported: Event) -> int:
    """Report events, and return how often a silence is reported after them."""
    path = folder / "events"
    start = Start("s", "scripted", (), {}, str(folder), {})
    session = DrivenSession(start, EventWriter(path), lambda: None)
    for event in reported:
        session.report(event)
    for _ in range(PASSES):
        await checkpoint()
    events = [entry.event for entry in EventReader(path).read()]
    return sum(isinstance(each, FellSilent) for each in events)


async def test_a_silence_in_a_turn_is_reported_once(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, PromptTaken("go")) == 1


async def test_a_running_tool_is_no_silence(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, PromptTaken("go"), ToolBegan("1", "Bash")) == 0


async def test_a_silence_after_a_tool_is_reported(tmp_path: Path) -> None:
    events = (PromptTaken("go"), ToolBegan("1", "Bash"), ToolEnded("1", "Bash"))
    assert await silences_after(tmp_path, *events) == 1


async def test_without_a_turn_there_is_no_silence(tmp_path: Path) -> None:
    assert await silences_after(tmp_path, ToolEnded("1", "Bash")) == 0
