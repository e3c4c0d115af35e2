"""What the demo agent shows: its layout, its live area, and how it is painted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.programs.demo import dialog
from rookery.programs.demo.input import Draft
from rookery.programs.demo.screen import (
    MAX_DRAFT_ROWS,
    Frame,
    LiveArea,
    Painter,
    PrintedKind,
    PrintedText,
    Row,
    RunningTurn,
    draw,
    lay_out,
    width,
    wrap,
)

STATUS = "demo · default mode · 3 turns"
RULE = "─" * 40

LINES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=80)


def rows(area: LiveArea, columns: int = 40, lines: int = 30) -> list[str]:
    return [row.text for row in draw(area, columns, lines).rows]


def test_the_box_stands_between_two_rules() -> None:
    area = LiveArea(Draft().typed("first\nsecond"), STATUS)

    assert rows(area) == ["", RULE, "❯ first", "  second", RULE, f"  {STATUS}"]


def test_the_cursor_is_at_the_end_of_the_draft() -> None:
    frame = draw(LiveArea(Draft().typed("first\n漢é"), STATUS), 40, 30)

    assert (frame.cursor_row, frame.cursor_column) == (3, 5)


def test_a_running_turn_shows_how_long() -> None:
    area = LiveArea(Draft(), STATUS, turn=RunningTurn(3.6))

    assert rows(area)[:3] == ["", "✽ Working… (3s · esc to interrupt)", RULE]


def test_words_being_spoken_stand_above() -> None:
    area = LiveArea(Draft(), STATUS, turn=RunningTurn(0, "one two"))

    assert rows(area)[:4] == ["", "● one two", "", "✢ Working… (0s · esc to interrupt)"]


def test_queued_prompts_stand_dim_above_the_box() -> None:
    area = LiveArea(Draft(), STATUS, turn=RunningTurn(0), queued=("next\nthing",))

    assert Row("  ❯ next…", is_dim=True) in draw(area, 40, 30).rows


def test_nothing_but_a_word_is_shown_before_the_box() -> None:
    assert rows(LiveArea(Draft(), STATUS, is_starting=True)) == ["", "Starting…"]


def test_a_permission_takes_the_place_of_the_box() -> None:
    area = LiveArea(
        Draft().typed("kept"),
        STATUS,
        turn=RunningTurn(1),
        dialog=dialog.permission("Bash", "ls"),
    )

    assert rows(area, 60) == [
        "",
        "─" * 60,
        " Bash",
        "   ls",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   2. Yes, and don't ask again this session",
        "   3. No, and tell demo what to do differently (esc)",
        "─" * 60,
        f"  {STATUS}",
    ]


def test_a_question_shows_its_options() -> None:
    area = LiveArea(Draft(), STATUS, dialog=dialog.question("Which?", ("Red", "Blue")))

    assert rows(area)[2:6] == [" Question", "   Which?", " ❯ 1. Red", "   2. Blue"]


def test_a_draft_too_tall_is_shown_by_name() -> None:
    fits = Draft().typed("\n".join("x" * MAX_DRAFT_ROWS))
    tall = fits.typed("\nx")

    assert "❯ x" in rows(LiveArea(fits, STATUS))
    assert rows(LiveArea(tall, STATUS))[2] == "❯ [Pasted text #1 +20 lines]"


def test_of_a_draft_taller_than_the_screen_the_end_is_shown() -> None:
    area = LiveArea(Draft().typed("\n".join("abcdefgh")), STATUS)

    assert rows(area, lines=8) == ["", RULE, "  e", "  f", "  g", "  h", RULE, f"  {STATUS}"]


@given(
    text=st.text(max_size=300),
    columns=st.integers(min_value=10, max_value=60),
    lines=st.integers(min_value=3, max_value=30),
    asks=st.booleans(),
)
def test_the_live_area_always_fits(text: str, columns: int, lines: int, *, asks: bool) -> None:
    asked = dialog.permission("Bash", text) if asks else None
    area = LiveArea(
        Draft().typed(text), text, turn=RunningTurn(9, text), queued=(text,), dialog=asked
    )

    frame = draw(area, columns, lines)

    assert len(frame.rows) <= lines
    assert 0 <= frame.cursor_row < len(frame.rows)
    assert 0 <= frame.cursor_column < columns
    assert all(width(row.text) <= columns for row in frame.rows)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (PrintedKind.PROMPT, "a\nb", ["", "❯ a", "  b"]),
        (PrintedKind.WORDS, "a\nb", ["", "● a", "  b"]),
        (PrintedKind.RESULT, "ok", ["  ⎿ ok"]),
    ],
)
def test_blocks_have_their_marks(kind: PrintedKind, text: str, expected: list[str]) -> None:
    assert PrintedText(kind, text).rows(40) == expected


def test_what_is_printed_stands_above_the_live_area() -> None:
    frame = Frame((Row("top"), Row("box")), 1, 2)
    painter = Painter()

    first = painter.paint([], frame, 40)
    second = painter.paint(["said"], frame, 40)

    assert first == "\x1b[?7ltop\r\nbox\x1b[?7h\r\x1b[2C"
    assert second == f"\r\x1b[1A\x1b7\x1b[2K\x1b[B\x1b[2K\x1b8said\r\n{first}"


@pytest.mark.parametrize(("reflows", "above", "height"), [(True, 3, 5), (False, 2, 3)])
def test_rows_that_a_narrower_terminal_broke_are_erased_too(
    above: int, height: int, *, reflows: bool
) -> None:
    painter = Painter(reflows=reflows)
    painter.paint([], Frame((Row("─" * 40), Row("─" * 20), Row("─" * 40)), 2, 10), 40)

    erased = painter.erase(20)

    assert erased.startswith(f"\r\x1b[{above}A\x1b7")
    assert erased.count("\x1b[2K") == height


def test_what_is_erased_need_not_be_erased_again() -> None:
    painter = Painter()
    painter.paint([], Frame((Row("box"),), 0, 0), 40)

    painter.erase(40)

    assert painter.erase(40) == ""


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
