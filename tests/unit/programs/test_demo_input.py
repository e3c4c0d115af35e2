"""How the demo agent decodes its keyboard, and the draft in its input box."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.programs.demo.input import (
    MAX_SHOWN_PASTE_CHARACTERS,
    MAX_SHOWN_PASTE_LINES,
    Decoder,
    Draft,
    InputEvent,
    KeyPress,
    Pasted,
    Typed,
)

#: What a terminal sends, whole and broken, so that cuts fall into interesting places.
PIECES = st.one_of(
    st.sampled_from(
        [b"\x1b", b"\x1b[200~", b"\x1b[201~", b"\x1b[A", b"\x1bOB", b"\x1b\r", b"\x1b[", b"\r"]
    ),
    st.text(max_size=5).map(str.encode),
    st.binary(max_size=5),
)
TEXT = st.text(st.characters(exclude_characters="\r\x1b", codec="utf-8"))
BYTES = st.lists(PIECES, max_size=12).map(b"".join)

LONG = "\n".join(["line"] * (MAX_SHOWN_PASTE_LINES + 1))


def decoded(*chunks: bytes) -> list[InputEvent]:
    """Read ``chunks``, with the typed text in one piece where it was typed in one."""
    decoder = Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    joined: list[InputEvent] = []
    for event in [*events, *decoder.settle()]:
        match joined, event:
            case [*before, Typed(first)], Typed(second):
                joined = [*before, Typed(first + second)]
            case _:
                joined.append(event)
    return joined


@given(BYTES, st.lists(st.integers(min_value=0, max_value=60), max_size=6))
def test_the_same_bytes_mean_the_same_wherever_they_are_cut(
    text: bytes, cuts: list[int]
) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[start:end] for start, end in pairwise(bounds)]

    assert decoded(*chunks) == decoded(text)


@given(BYTES)
def test_bytes_one_at_a_time_mean_the_same(text: bytes) -> None:
    assert decoded(*(bytes([byte]) for byte in text)) == decoded(text)


@given(TEXT)
def test_a_paste_comes_out_as_it_went_in(text: str) -> None:
    assert decoded(b"\x1b[200~" + text.encode() + b"\x1b[201~") == [Pasted(text)]


def test_escapes_and_broken_end_marks_are_part_of_a_paste() -> None:
    text = "\x1b \x1b[A \x1b[201 \x1b[200~ \x03"

    assert decoded(f"\x1b[200~{text}\x1b[201~".encode()) == [Pasted(text)]


def test_line_ends_in_a_paste_become_newlines() -> None:
    assert decoded(b"\x1b[200~a\rb\r\nc\nd\x1b[201~") == [Pasted("a\nb\nc\nd")]


def test_what_follows_a_paste_is_typed() -> None:
    events = decoded(b"a\x1b[200~b\x1b[201~c\r")

    assert events == [Typed("a"), Pasted("b"), Typed("c"), KeyPress.ENTER]


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        (b"\r", KeyPress.ENTER),
        (b"\n", KeyPress.NEWLINE),
        (b"\x1b\r", KeyPress.NEWLINE),
        (b"\x7f", KeyPress.BACKSPACE),
        (b"\x15", KeyPress.DELETE_INPUT),
        (b"\x03", KeyPress.CANCEL),
        (b"\x04", KeyPress.CLOSE),
        (b"\x1b[A", KeyPress.UP),
        (b"\x1bOA", KeyPress.UP),
        (b"\x1b[B", KeyPress.DOWN),
        (b"\x1b", KeyPress.ESCAPE),
    ],
)
def test_a_key_is_known_by_its_bytes(sent: bytes, key: KeyPress) -> None:
    assert decoded(sent) == [key]


@pytest.mark.parametrize("sent", [b"\t", b"\x1b[1;5C", b"\x1b[3~", b"\x1bx", b"\x1b[", b"\x00"])
def test_a_key_that_means_nothing_is_no_event(sent: bytes) -> None:
    assert decoded(sent) == []


def test_an_escape_is_undecided_until_nothing_follows() -> None:
    decoder = Decoder()

    before = decoder.feed(b"\x1b")

    assert before == []
    assert decoder.is_undecided
    assert decoder.settle() == [KeyPress.ESCAPE]
    assert not decoder.is_undecided


def test_a_paste_is_never_undecided() -> None:
    decoder = Decoder()

    decoder.feed(b"\x1b[200~words\x1b")

    assert not decoder.is_undecided


def test_letters_of_several_bytes_may_come_in_parts() -> None:
    sent = "é漢🎉".encode()

    assert decoded(sent[:1], sent[1:4], sent[4:7], sent[7:]) == [Typed("é漢🎉")]


def test_a_short_paste_is_shown() -> None:
    text = "\n".join(["line"] * MAX_SHOWN_PASTE_LINES)

    draft = Draft().typed("see: ").pasted(text)

    assert draft.shown == draft.text == "see: " + text


def test_a_paste_of_many_lines_is_shown_by_name_and_submitted_in_full() -> None:
    draft = Draft().typed("see ").pasted(LONG).typed(" now")

    assert draft.shown == "see [Pasted text #1 +10 lines] now"
    assert draft.text == f"see {LONG} now"


def test_a_long_line_is_shown_by_name() -> None:
    assert (
        Draft().pasted("x" * (MAX_SHOWN_PASTE_CHARACTERS + 1)).shown
        == "[Pasted text #1 +0 lines]"
    )


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
