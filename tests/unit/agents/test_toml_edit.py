"""Other people's TOML, edited: whatever it looks like, every byte of it stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.agents.shared import toml_edit
from rookery.model.errors import ConfigBroken
from tests.support import files


@pytest.mark.spec("C1")
@given(files.as_toml())
def test_tables_are_added_after_all_that_is_there(text: str) -> None:
    new = toml_edit.append(text, "[ours]\na = 1\n")

    assert new.startswith(text)
    assert toml_edit.parse(new) == {**toml_edit.parse(text), "ours": {"a": 1}}


@given(st.text(max_size=20))
def test_every_string_can_be_written(value: str) -> None:
    assert toml_edit.parse(f"a = {toml_edit.string(value)}") == {"a": value}
    assert toml_edit.parse(f"[{toml_edit.string(value)}]") == {value: {}}


@pytest.mark.parametrize(
    ("text", "ended"),
    [("a = 1", "a = 1\n\n[b]\n"), ("a = 1\r\n", "a = 1\r\n\r\n[b]\r\n"), ("", "[b]\n")],
)
def test_lines_end_as_they_do_there(text: str, ended: str) -> None:
    assert toml_edit.append(text, "[b]\n") == ended


def test_tables_are_found_with_their_keys_and_nothing_more() -> None:
    text = "a = 1\n[b]\nc = 1\n# of d\n[d.'e f']\n\n[[g]]\nh = 1"

    found = [(each.path, each.start, each.end) for each in toml_edit.tables(text)]

    assert found == [(("b",), 1, 3), (("d", "e f"), 4, 5), (("g",), 6, 8)]


def test_lines_are_taken_out_with_the_empty_one_before() -> None:
    assert toml_edit.without_lines("a\n\nb\nc\n\nd\n", 2, 4) == "a\n\nd\n"


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = \n", 2), ("a = 1\n[b\n", 2), ('a = """', 1), ("a\n", 1)]
)
def test_what_is_broken_is_refused_by_its_line(text: str, line: int) -> None:
    with pytest.raises(ConfigBroken, match=f"line {line}: "):
        toml_edit.parse(text)


def test_a_mark_at_the_beginning_does_no_harm() -> None:
    text = "\ufeff[a]\n"

    assert toml_edit.parse(text) == {"a": {}}
    assert [each.path for each in toml_edit.tables(text)] == [("a",)]
