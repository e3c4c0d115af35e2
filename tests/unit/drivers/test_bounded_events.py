"""What is stored of events that are too large or nested too deep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery.drivers.bounded_events import (
    MAX_FIELD_CHARACTERS,
    MAX_NESTING,
    MAX_TEXT_CHARACTERS,
    MAX_TOKENS,
    bounded_event,
    bounded_input,
    without_deep_values,
)
from rookery.drivers.commands import Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import (
    Asked,
    Event,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    TurnOver,
    Used,
)
from rookery.model.short_texts import shortened

pytestmark = [pytest.mark.anyio, pytest.mark.spec("D1")]


def nested(levels: int, *, inner: object = 1) -> Any:  # noqa: ANN401 - JSON
    value = inner
    for _ in range(levels):
        value = {"a": [value]}
    return value


def test_an_input_that_is_not_too_deep_stays_as_it_is() -> None:
    given = {"command": "ls", "x": nested(MAX_NESTING // 2 - 1)}

    assert without_deep_values(given) is given


def test_what_is_nested_too_deep_is_cut_out() -> None:
    given = {"command": "ls", "x": nested(900), "y": nested(MAX_NESTING // 2)}

    cut = without_deep_values(given)

    assert cut["command"] == "ls"
    assert cut["y"] == nested(MAX_NESTING // 2 - 1, inner={"a": None})
    assert without_deep_values(cut) is cut


def test_a_long_input_keeps_the_names_of_its_fields() -> None:
    given = {"command": "a" * 10_000, "y": [1] * 10_000, "z": 1}

    cut = bounded_input(given, 20_000)

    assert bounded_input(given, 80_000) is given
    assert [*cut] == [*given]
    assert all(len(each) < MAX_FIELD_CHARACTERS + 100 for each in cut.values())


async def test_a_session_stores_events_of_a_limited_size(tmp_path: Path) -> None:
    path, much = tmp_path / "events", "a" * (9 * 2**20)
    start = Start("s", "scripted", (), {}, str(tmp_path), {})
    session = DrivenSession(start, EventWriter(path), lambda: None)
    given = {"command": much}
    large: list[Event] = [TextAdded(much), ThoughtAdded(much), TurnOver(much)]

    session.report(*large, ToolBegan("1", "Bash", given), Asked("1", "Bash", given))
    session.report(Asked("2", "Bash", {"command": "ls"}))

    *texts, began, asked, other = (each.event for each in EventReader(path).read())
    cut = {"command": shortened(much, MAX_FIELD_CHARACTERS)}
    text = shortened(much, MAX_TEXT_CHARACTERS)
    assert texts == [TextAdded(text), ThoughtAdded(text), TurnOver(text)]
    assert began == ToolBegan("1", "Bash", cut)
    assert asked == Asked("1", "Bash", cut, is_exact=False)
    assert other == Asked("2", "Bash", {"command": "ls"})


@pytest.mark.spec("G6")
def test_no_more_tokens_are_believed_than_can_be_counted() -> None:
    usual = Used(100, 20, context=5_000)

    assert bounded_event(usual) is usual
    assert bounded_event(Used(2**62, 2**70, 1, context=-1)) == Used(MAX_TOKENS, MAX_TOKENS, 1)
