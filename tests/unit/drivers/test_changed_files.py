"""Which files a driven session has changed, and not only shown a change of."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.drivers.commands import Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import (
    Event,
    FileChanged,
    PromptTaken,
    ToolBegan,
    ToolEnded,
    TurnOver,
)
from rookery.model.facts import SessionId
from rookery.ports.sightings import Reported
from rookery.runtimes.driven.reports import read_entries

pytestmark = [pytest.mark.anyio, pytest.mark.spec("L4")]

BEGUN = (PromptTaken("go"), ToolBegan("1", "Edit"))
SHOWN = FileChanged("a.py", "+new", "1")


def changed(folder: Path, *reported: Event) -> list[str]:
    """Return the files that a session has changed, after it reported these events."""
    path = folder / "events"
    start = Start("s", "scripted", (), {}, str(folder), {})
    session = DrivenSession(start, EventWriter(path), lambda: None)
    for event in reported:
        session.report(event)
    session.report(TurnOver())  # without a turn, no timer is left
    told = read_entries(EventReader(path).read(), SessionId("s"), folder="")
    return [file for each in told if isinstance(each, Reported) for file in each.edited]


async def test_a_change_is_made_once_its_call_has_ended(tmp_path: Path) -> None:
    again = (FileChanged("b.py", "+new", "1"), ToolEnded("1", "Edit"))

    assert changed(tmp_path, *BEGUN, SHOWN, *again) == ["a.py", "b.py"]


async def test_a_change_that_is_reported_after_its_call_is_made(tmp_path: Path) -> None:
    assert changed(tmp_path, *BEGUN, ToolEnded("1", "Edit"), SHOWN) == ["a.py"]


@pytest.mark.parametrize("end", [(), (ToolEnded("1", "Edit", failed=True),)])
async def test_a_change_of_a_call_that_fails_or_never_ends_is_not_made(
    tmp_path: Path, end: tuple[Event, ...]
) -> None:
    assert changed(tmp_path, *BEGUN, SHOWN, *end) == []
