from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model.errors import WordsRefused
from rookery.model.messages import (
    MAX_LINE_BYTES,
    MAX_MESSAGE_BYTES,
    Words,
    clean,
    folded,
    same_words,
)
from rookery.model.text_rewriting import essence

#: Anything that a person can type or a program can send, but half characters and NUL.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    "text",
    [
        "-rf",
        "ends with;",
        "$(reboot) `x` ${HOME} $HOME !!",
        "\"both\" 'quotes' \\ and slashes",
        "tabs\tand\nlines\n\n",
        "👩‍👩‍👧 ünïcödé e\u0301 \u202e \u2028 \ufeff \U0010ffff",
        "  leading and trailing  ",
    ],
)
def test_words_arrive_exactly(text: str) -> None:
    assert clean(text) == Words(text, 0)


@pytest.mark.spec("B2")
def test_a_line_that_ends_in_the_other_way_ends_in_ours() -> None:
    assert clean("one\r\ntwo\r\n") == Words("one\ntwo\n", 0)


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("text", "kept", "removed"),
    [
        ("rm\x1b[201~ -rf", "rm[201~ -rf", 1),
        ("a\rb", "ab", 1),
        ("a\r\r\nb", "a\nb", 1),
        ("bell\x07 del\x7f csi\x9b nel\x85 vt\x0b", "bell del csi nel vt", 5),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out_and_counted(
    text: str, kept: str, removed: int
) -> None:
    assert clean(text) == Words(kept, removed)


@pytest.mark.spec("B2")
@given(TEXT)
def test_only_control_characters_are_ever_taken_out(text: str) -> None:
    unix = text.replace("\r\n", "\n")
    harmless = [each for each in unix if unicodedata.category(each) != "Cc" or each in "\t\n"]
    try:
        words = clean(text)
    except WordsRefused:
        assert not "".join(harmless).strip()
        return

    assert words.text == "".join(harmless)
    assert words.removed == len(unix) - len(harmless)


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("nul\0", "NUL"),
        ("half \ud83d of it", "surrogate"),
        ("\udcff", "surrogate"),
        ("", "it is empty"),
        (" \n\t", "it is empty"),
        ("\x1b\x07", "it is empty"),
    ],
)
def test_what_cannot_be_typed_is_refused(text: str, because: str) -> None:
    with pytest.raises(WordsRefused, match=because):
        clean(text)


@pytest.mark.spec("B2")
def test_words_have_a_megabyte_and_no_more() -> None:
    assert (
        len(clean("ä" * (MAX_MESSAGE_BYTES // 2)).text.encode())
        == MAX_MESSAGE_BYTES
        == 1_000_000
    )

    with pytest.raises(WordsRefused, match="1,000,001"):
        clean("a" * (MAX_MESSAGE_BYTES + 1))


@given(TEXT, TEXT)
def test_the_same_words_differ_in_blanks_and_rewriting_only(one: str, other: str) -> None:
    assert same_words(one, f"  {one}\n")
    assert same_words(one, other) == (essence(one).split() == essence(other).split())


@pytest.mark.spec("B2", "F2")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("[bob] (2):\n\none\n\n  two  \n", "[bob] (2): one two"),
        ("one line  as it is", "one line  as it is"),
    ],
)
def test_words_for_a_plain_program_become_one_line(words: str, line: str) -> None:
    assert folded(words) == line
    assert same_words(words, line)


@pytest.mark.spec("B2", "F2")
@given(TEXT.filter(str.strip), st.integers(1, 3_000))
def test_a_folded_line_is_never_too_long_and_says_what_is_missing(
    text: str, times: int
) -> None:
    line = folded(text * times)

    assert len(line.encode()) <= MAX_LINE_BYTES
    assert len(line.splitlines()) <= 1
    whole = " ".join(filter(None, map(str.strip, (text * times).splitlines())))
    assert line == whole or line.endswith("more characters)")
