"""Texts of an event file that came together are one report."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rookery.drivers.events import (
    Event,
    EventEntry,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
)
from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import SessionId, ToolCalled, ToolUsed
from rookery.ports.sightings import Reported, TextsReported
from rookery.runtimes.driven import reports
from rookery.runtimes.driven.reports import read_entries

IT = SessionId("it")
NOON, LATER = datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 1, 13, tzinfo=UTC)


def text(number: int, at: datetime = NOON) -> EventEntry:
    return EventEntry(number, at.isoformat(), TextAdded(f"{number}"))


def texts(*numbers: int, at: datetime = NOON) -> TextsReported:
    return TextsReported(IT, tuple(map(str, numbers)), numbers[-1], at)


def test_texts_of_one_moment_are_one_report() -> None:
    found = [*read_entries(map(text, (1, 2, 3)), IT, folder="")]

    assert found == [texts(1, 2, 3)]


def test_another_event_between_texts_keeps_its_place() -> None:
    thought = EventEntry(2, NOON.isoformat(), ThoughtAdded("hm"))

    found = [*read_entries((text(1), thought, text(3), text(4)), IT, folder="")]

    hm = Reported(IT, blocks=(Block(BlockKind.THOUGHT, "hm"),), number=2, at=NOON)
    assert found == [texts(1), hm, texts(3, 4)]


def test_texts_of_several_moments_keep_their_times() -> None:
    found = [*read_entries((text(1), text(2, LATER), text(3, LATER)), IT, folder="")]

    assert found == [texts(1), texts(2, 3, at=LATER)]


def test_a_missing_entry_separates_texts() -> None:
    """From the last number and the count, it must be clear which ones were recorded before."""
    found = [*read_entries(map(text, (1, 3)), IT, folder="")]

    assert found == [texts(1), texts(3)]


def test_a_report_has_a_limited_number_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MAX_TEXTS", 2)

    found = [*read_entries(map(text, (1, 2, 3)), IT, folder="")]

    assert found == [texts(1, 2), texts(3)]


def test_a_call_and_why_it_failed_have_the_same_id() -> None:
    began = ToolBegan("c1", "Bash", {"command": "ls /x"})
    ended = ToolEnded("c1", "Bash", "ls: no such file\n/x", failed=True)
    happened: list[Event] = [began, ended, ToolEnded("c2", "Bash", "ok")]
    entries = [
        EventEntry(number, NOON.isoformat(), event) for number, event in enumerate(happened, 1)
    ]

    told = [
        each.facts
        for each in read_entries(entries, IT, folder="/f")
        if isinstance(each, Reported)
    ]

    assert told == [
        (ToolCalled(IT, "Bash", "ls /x", "c1"),),
        (ToolUsed(IT, "Bash", "", "", "c1", "/f", "ls: no such file ↵ /x"),),
        (ToolUsed(IT, "Bash", "", "", "c2", "/f"),),
    ]
