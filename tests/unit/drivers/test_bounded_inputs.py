"""What is stored of the input of a tool call."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.drivers.bounded_inputs import MAX_NESTING, without_deep_values

pytestmark = pytest.mark.spec("D1")


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
