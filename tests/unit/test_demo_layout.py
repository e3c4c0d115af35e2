"""Widths and line breaks of the demo agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.programs.demo.layout import lay_out, width, wrap

LINES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=80)


@pytest.mark.parametrize(
    ("text", "cells"),
    [("abc", 3), ("é", 1), ("e\u0301", 1), ("漢字", 4), ("🎉", 2), ("\u200d", 0)],
)
def test_a_text_is_as_wide_as_its_cells(text: str, cells: int) -> None:
    assert width(text) == cells


def test_lines_break_between_words() -> None:
    assert wrap("one two three", 8) == ["one two ", "three"]


def test_a_word_too_long_is_cut() -> None:
    assert wrap("ab cdefghijk lm", 4) == ["ab ", "cdef", "ghij", "k lm"]


def test_no_row_begins_with_the_blank_that_did_not_fit() -> None:
    assert wrap("abcd efgh", 4) == ["abcd", "efgh"]


def test_wide_letters_are_not_cut_in_two() -> None:
    assert wrap("漢字漢字", 5) == ["漢字", "漢字"]


@given(LINES, st.integers(min_value=2, max_value=30))
def test_no_row_is_too_wide_and_no_letter_is_lost(line: str, limit: int) -> None:
    rows = wrap(line, limit)

    assert all(width(row) <= limit for row in rows)
    assert "".join("".join(rows).split()) == "".join(line.split())


def test_rows_after_the_first_are_indented_like_it() -> None:
    assert lay_out("one two\nthree", "● ", 6) == ["● one ", "  two", "  thre", "  e"]


def test_controls_are_not_shown_and_tabs_are_blanks() -> None:
    assert lay_out("a\tb\x1b[31m\x07c\x9bd", "", 40) == ["a    b[31mcd"]
