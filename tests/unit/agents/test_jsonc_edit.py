"""Other people's JSON, edited: whatever it looks like, every byte of it stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rookery.agents.shared import jsonc_edit
from rookery.model.errors import ConfigBroken
from tests.support import files

OURS = {"hooks": [{"type": "command", "command": 'sh "x" \\ ä'}]}


def expected(settings: dict[str, Any], event: str) -> dict[str, Any]:
    before = json.loads(json.dumps(settings))
    before.setdefault("hooks", {}).setdefault(event, []).append(OURS)
    return dict(before)


@pytest.mark.spec("C1")
@given(st.data(), st.booleans())
def test_what_is_added_is_all_that_is_new(drawn: st.DataObject, comments: bool) -> None:
    settings = drawn.draw(files.settings())
    text = drawn.draw(files.as_json(settings, comments=comments))
    event = drawn.draw(st.sampled_from(files.EVENTS))

    new = jsonc_edit.append(text, ("hooks", event), OURS, comments=comments)

    assert jsonc_edit.parse(new, comments=comments) == expected(settings, event)
    assert is_one_piece_longer(new, text)


@pytest.mark.spec("C1")
@given(st.data(), st.booleans())
def test_what_is_taken_out_is_all_that_is_gone(drawn: st.DataObject, comments: bool) -> None:
    settings = drawn.draw(files.settings())
    text = drawn.draw(files.as_json(settings, comments=comments))
    assume(settings)
    name = drawn.draw(st.sampled_from(sorted(settings)))

    left = jsonc_edit.remove(text, (name,), comments=comments)

    rest = {each: value for each, value in settings.items() if each != name}
    assert jsonc_edit.parse(left, comments=comments) == rest
    assert is_within(left, text)


@pytest.mark.spec("C1")
@given(st.data(), st.booleans())
def test_a_new_member_is_taken_out_to_the_byte(drawn: st.DataObject, comments: bool) -> None:
    settings = drawn.draw(files.settings())
    text = drawn.draw(files.as_json(settings, comments=comments))
    assume(settings)

    new = jsonc_edit.append(text, ("ours",), OURS, comments=comments)

    assert jsonc_edit.remove(new, ("ours",), comments=comments) == text


def is_one_piece_longer(new: str, text: str) -> bool:
    places = range(len(text) + 1)
    return any(new.startswith(text[:at]) and new.endswith(text[at:]) for at in places)


def is_within(part: str, whole: str) -> bool:
    """Whether ``part`` is ``whole`` with something left out."""
    letters = iter(whole)
    return all(letter in letters for letter in part)


@given(st.data(), st.booleans())
def test_an_element_can_be_taken_out_of_a_list(drawn: st.DataObject, comments: bool) -> None:
    numbers = drawn.draw(st.lists(st.integers(), min_size=1, max_size=5))
    text = drawn.draw(files.as_json({"a": [numbers]}, comments=comments))
    number = drawn.draw(st.integers(0, len(numbers) - 1))

    left = jsonc_edit.remove(text, ("a", 0, number), comments=comments)

    rest = numbers[:number] + numbers[number + 1 :]
    assert jsonc_edit.parse(left, comments=comments) == {"a": [rest]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "l": [\n        1\n    ]\n}\n'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"l": [\n\t\t1\n\t]\n}'),
        ('{"a": 1}', '{"a": 1, "l": [1]}'),
        ('{"a":1}', '{"a":1,"l":[1]}'),
        ("{}\n", '{\n  "l": [\n    1\n  ]\n}\n'),
        ("{\r\n}", '{\r\n  "l": [\r\n    1\r\n  ]\r\n}'),
        ('{\n  "l": [0]\n}', '{\n  "l": [0, 1]\n}'),
        ('{\n  "l": []\n}', '{\n  "l": [\n    1\n  ]\n}'),
        ('{\n  "l": [\n    0\n  ]\n}', '{\n  "l": [\n    0,\n    1\n  ]\n}'),
    ],
)
def test_what_is_added_looks_like_what_is_around_it(before: str, after: str) -> None:
    assert jsonc_edit.append(before, ("l",), 1) == after


def test_a_comment_stays_with_what_it_is_about() -> None:
    before = '{\n  "a": 1 // one\n}\n'

    after = jsonc_edit.append(before, ("l",), 1, comments=True)

    assert after.startswith('{\n  "a": 1 // one\n')
    assert jsonc_edit.parse(after, comments=True) == {"a": 1, "l": [1]}


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "a": 1,\n}', "line 3:"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3:"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "recursion"),
        ("{} {}", "line 1: Extra"),
        ('{\n // no\n "a": 1}', "line 2:"),
        ("\ufeff{}", "line 1:"),
        ('{\n  "l": {}\n}', "line 2: l should be a list"),
        ("[]", "line 1: the whole file should be an object"),
    ],
)
def test_what_is_broken_is_refused_by_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigBroken, match=said):
        jsonc_edit.append(text, ("l",), 1)


def test_of_two_of_the_same_name_the_last_counts() -> None:
    new = jsonc_edit.append('{"l": [0], "l": [2]}', ("l",), 1)

    assert new == '{"l": [0], "l": [2, 1]}'
    assert jsonc_edit.remove(new, ("l", 0)) == '{"l": [0], "l": [1]}'
