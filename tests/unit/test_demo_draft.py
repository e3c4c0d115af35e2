"""The words in the demo agent's box."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.programs.demo.draft import LONGEST_PASTE, LONGEST_PASTE_LINES, Draft

LONG = "\n".join(["line"] * (LONGEST_PASTE_LINES + 1))


def test_a_short_paste_is_shown() -> None:
    text = "\n".join(["line"] * LONGEST_PASTE_LINES)

    draft = Draft().typed("see: ").pasted(text)

    assert draft.shown == draft.text == "see: " + text


def test_a_paste_of_many_lines_is_shown_by_name_and_submitted_in_full() -> None:
    draft = Draft().typed("see ").pasted(LONG).typed(" now")

    assert draft.shown == "see [Pasted text #1 +10 lines] now"
    assert draft.text == f"see {LONG} now"


def test_a_long_line_is_shown_by_name() -> None:
    assert Draft().pasted("x" * (LONGEST_PASTE + 1)).shown == "[Pasted text #1 +0 lines]"


def test_pastes_are_numbered_on_from_draft_to_draft() -> None:
    draft = Draft().pasted(LONG).emptied().pasted(LONG)

    assert draft.shown == "[Pasted text #2 +10 lines]"


def test_backspace_takes_a_character_or_a_whole_paste() -> None:
    draft = Draft().typed("a").pasted(LONG).typed("bc")

    assert draft.shortened().text == f"a{LONG}b"
    assert draft.shortened().shortened().text == f"a{LONG}"
    assert draft.shortened().shortened().shortened().text == "a"


def test_an_empty_paste_leaves_the_box_empty() -> None:
    assert Draft().pasted("") == Draft()


@given(st.lists(st.tuples(st.booleans(), st.text())))
def test_what_was_typed_and_pasted_is_submitted_exactly(parts: list[tuple[bool, str]]) -> None:
    draft = Draft()
    for is_pasted, text in parts:
        draft = draft.pasted(text) if is_pasted else draft.typed(text)

    assert draft.text == "".join(text for _, text in parts)


@given(st.text())
def test_backspaces_empty_the_box(text: str) -> None:
    draft = Draft().typed(text)
    for _ in text:
        draft = draft.shortened()

    assert draft == draft.shortened() == Draft()
