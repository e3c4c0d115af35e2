from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.ports.terminal import Printed
from rookery.runtimes.tmux.captures import PaneText
from rookery.runtimes.tmux.scrollback import MARKED_LINES, Mark, mark_in, printed_in

LIMIT = 1_000

OLD = tuple(f"old {number}" for number in range(60))


def roll(*lines: str, mark: str = "", size: int = 0, is_full_screen: bool = False) -> PaneText:
    is_full = size >= LIMIT - LIMIT // 10
    return PaneText(lines, LIMIT, is_full, is_full_screen, mark)


def marked(*lines: str, words: str = "ls") -> str:
    """Return the mark that a pane keeps once words were typed after these lines."""
    return mark_in(roll(*lines), lines[-1:], words).text


def printed(
    *lines: str, mark: str, size: int = 0, was_wiped: bool = False
) -> tuple[tuple[str, ...], bool]:
    found = printed_in(roll(*lines, mark=mark, size=size), was_wiped=was_wiped)
    return found.lines, found.is_whole


@pytest.mark.spec("F3")
def test_what_was_printed_begins_on_the_line_that_the_words_stand_on() -> None:
    mark = marked(*OLD, "$")

    assert printed(*OLD, "$ ls", "a", "$", mark=mark) == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_the_first_words_of_all_are_typed_on_the_first_line() -> None:
    assert printed("$ ls", "a", "$", mark=marked("$")) == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_lines_that_are_all_alike_are_counted() -> None:
    alike = ("tick",) * 80
    mark = marked(*alike, "")

    assert printed(*alike, *("tick",) * 7, "", mark=mark) == ((*("tick",) * 7, ""), True)


@pytest.mark.spec("F3")
@pytest.mark.parametrize("forgotten", [100, 300])
def test_where_tmux_forgot_the_oldest_lines_the_mark_is_found_further_up(
    forgotten: int,
) -> None:
    old = tuple(f"old {number}" for number in range(990))
    alike = tuple(f"old {number % 7}" for number in range(990))

    for above in (old, alike):
        lines = (*above[forgotten:], "$ ls", "a", "$")
        found = printed(*lines, mark=marked(*above, "$"), size=950)
        assert found == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_where_lines_are_all_alike_and_nothing_typed_is_shown_they_are_counted() -> None:
    alike = ("tick",) * 990

    found = printed(*alike[200:], *("tick",) * 7, "", mark=marked(*alike, ""), size=950)

    assert found == ((*("tick",) * 7, ""), True)


@pytest.mark.spec("F3")
def test_where_forgotten_lines_were_wrapped_the_mark_is_found_by_what_stands_above() -> None:
    old = tuple(f"old {number}" for number in range(990))

    found = printed(*old[137:], "$ ls", "a", "$", mark=marked(*old, "$"), size=950)

    assert found == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_where_the_same_was_asked_and_answered_before_the_last_time_counts() -> None:
    round_ = ("$ ls", "a", "b")
    old = round_ * 300

    found = printed(*old[70 * 3 + 3 :], *round_, "$", mark=marked(*old, "$"), size=950)

    assert found == ((*round_, "$"), True)


@pytest.mark.spec("F3")
def test_where_more_was_printed_than_is_remembered_all_of_it_is_new_and_not_whole() -> None:
    new = tuple(f"new {number}" for number in range(990))

    for mark in (marked(*OLD, "$"), marked("$")):
        assert printed(*new, "$", mark=mark, size=950) == ((*new, "$"), False)


@pytest.mark.spec("F3")
def test_after_all_was_cleared_everything_is_new_also_if_it_looks_as_before() -> None:
    mark = marked("ok", "$", words="again")

    assert printed("ok", "$", mark=mark, was_wiped=True) == (("ok", "$"), True)
    assert printed("new", "$", mark=mark) == (("new", "$"), True)


@pytest.mark.spec("F3")
def test_what_was_cleared_to_above_the_words_is_not_new() -> None:
    """Some clear what is remembered first, and the screen then: it scrolls away."""
    mark = marked(*OLD, "$")

    found = printed(*OLD[50:], "$ ls", "a", "$", mark=mark, was_wiped=True)

    assert found == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_a_few_lines_that_were_drawn_anew_do_not_hide_the_mark() -> None:
    bars = ("file 1: 10 %", "file 2: 10 %")
    done = ("file 1: 99 %", "file 2: 99 %")

    found = printed(*OLD, *done, "$ ls", "a", "$", mark=marked(*OLD, *bars, "$"))

    assert found == (("$ ls", "a", "$"), True)


@pytest.mark.spec("F3")
def test_what_is_printed_above_a_status_at_the_bottom_is_new() -> None:
    mark = marked("old", "", "", "", "status 1")

    found, _ = printed("old", "a", "b", "", "status 2", mark=mark)

    assert found == ("a", "b", "", "status 2")


@pytest.mark.spec("F3")
def test_of_a_whole_screen_there_is_nothing_to_say() -> None:
    mark = marked(*OLD, "$")
    drawn = mark_in(roll(*OLD, "$", is_full_screen=True), (), "ls").text

    assert printed_in(roll("a", mark=mark, is_full_screen=True), was_wiped=False) == Printed()
    assert printed_in(roll("a", mark=drawn), was_wiped=False) == Printed()


@pytest.mark.parametrize("mark", ["", "rubbish", "e30=", "W10=", "MQ==", "ü"])
def test_without_a_mark_of_ours_nothing_is_known_to_be_new(mark: str) -> None:
    assert printed_in(roll("a", "b", mark=mark), was_wiped=False) == Printed()


@given(lines=st.lists(st.text(), min_size=1), words=st.text(min_size=1))
def test_a_pane_can_keep_any_mark(lines: list[str], words: str) -> None:
    mark = mark_in(roll(*lines), (), words)

    assert re.fullmatch(r"[\w=-]+", mark.text, re.ASCII)
    assert Mark.read(mark.text) == mark
    assert len(mark.above) <= MARKED_LINES


@given(
    old=st.lists(st.sampled_from("ab "), max_size=80),
    new=st.lists(st.sampled_from("ab "), max_size=9),
)
def test_whatever_stands_there_as_long_as_nothing_is_forgotten_the_new_is_what_is_new(
    old: list[str], new: list[str]
) -> None:
    lines, _ = printed(*old, "$ ls", *new, "$", mark=marked(*old, "$"))

    assert "\n".join(lines).lstrip() == "\n".join(("$ ls", *new, "$"))
