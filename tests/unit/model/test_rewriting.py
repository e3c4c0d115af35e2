"""What is known of how programs change words, as it was seen with the real ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.agents.claude.agent import CLAUDE
from rookery.agents.codex.agent import CODEX
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel, Step, same_words
from rookery.model.text_rewriting import EXACT
from rookery.ports.agent import Agent

#: Blanks and hidden characters of many kinds, and several of them together.
UNSEEN = (
    *(" ", "\n", "\t", "\u00a0", "\u2003", "\u2028", "\u2800", "\u3000", "\u200b", "\u2060"),
    *("\ufeff", "\u00ad", "\u061c", "\u180e", "\u200e", "\u202a", "\u202e", "\u2066", "\u2069"),
    *("\ufe0f", "\u034f", "\u3164", "\u115f", "\ufff9", "\U000e0001", "\U000e0100", "\x85"),
    *("\u2066 \u202e\u200b", "\ufeff\n\u2066"),
)

INVISIBLE = "1 invisible character is removed"
COMPOSED = "letters and their accents become one character"
TRIMMED = "blanks at the end are removed"

#: Words, what Claude Code 2.1.325 was seen to make of them, and what the receipt says.
SEEN = {
    "tab": ("a\tb", "a    b", "tabs become 4 blanks"),
    "blanks at the end": ("a b   ", "a b", TRIMMED),
    "a tab at the end": ("a\t", "a", TRIMMED),
    "blanks at the end of a line": ("a   \nb", "a   \nb", ""),
    "zero width space": ("a\u200bb", "ab", INVISIBLE),
    "word joiner": ("a\u2060b", "ab", INVISIBLE),
    "byte order mark": ("a\ufeffb", "ab", INVISIBLE),
    "soft hyphen": ("a\u00adb", "ab", INVISIBLE),
    "tag": ("a\U000e0041b", "ab", INVISIBLE),
    "right to left": ("a\u202eb", "ab", INVISIBLE),
    "isolates": ("a\u2066b\u2069", "ab", "2 invisible characters are removed"),
    "joiner of nothing": ("a\u200db", "ab", INVISIBLE),
    "variation of a letter": ("a\ufe0fb", "ab", INVISIBLE),
    "fillers": ("a\u3164b\uffa0c", "abc", "2 invisible characters are removed"),
    "line separator": ("a\u2028b", "a\nb", "line separators become newlines"),
    "accent": ("e\u0301", "\u00e9", COMPOSED),
    "hangul": ("\u1112\u1161\u11ab", "\ud55c", COMPOSED),
    "joined emoji": ("👩\u200d👧", "👩\u200d👧", ""),
    "emoji with a skin": ("👩🏽\u200d💻", "👩🏽\u200d💻", ""),
    "emoji of two styles": ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥", ""),
    "keycap": ("1\ufe0f\u20e3", "1\ufe0f\u20e3", ""),
    "flag of a region": (
        "🏴\U000e0067\U000e0062\U000e007f",
        "🏴\U000e0067\U000e0062\U000e007f",
        "",
    ),
    "half a flag": ("🏴\U000e0067x", "🏴x", INVISIBLE),
    "persian": ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e", ""),
    "hindi": ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937", ""),
    "mongolian": ("\u1820\u180b", "\u1820\u180b", ""),
    "private": ("a\ue000b\U000f0000", "a\ue000b\U000f0000", ""),
    "no-break space": ("a\u00a0b", "a\u00a0b", ""),
}


@pytest.mark.spec("B2")
@pytest.mark.parametrize(("words", "seen", "receipt"), SEEN.values(), ids=SEEN)
def test_a_receipt_says_what_claude_changes(words: str, seen: str, receipt: str) -> None:
    assert CLAUDE.input.rewriting.rewritten(words) == seen
    assert CLAUDE.input.rewriting.changes(words) == receipt


@pytest.mark.spec("B2")
@pytest.mark.parametrize(("words", "seen", "receipt"), SEEN.values(), ids=SEEN)
def test_words_are_proved_whatever_claude_changes(words: str, seen: str, receipt: str) -> None:
    assert same_words(words, seen)
    assert CLAUDE.input.holds(seen, words)


@pytest.mark.spec("B2")
def test_what_claude_would_have_reviewed_is_not_typed() -> None:
    assert CLAUDE.input.rewriting.typed("a\u202eb\u2066c\u2069 \u200b\t") == "abc \u200b\t"
    assert CODEX.input.rewriting.typed("a\u202eb") == "a\u202eb"


@pytest.mark.spec("B2")
def test_words_of_which_claude_leaves_nothing_are_refused() -> None:
    assert "nothing else in them" in CLAUDE.input.why_not("\u200b \u202e")
    assert CLAUDE.input.why_not("\u200b x") == ""


@pytest.mark.spec("B2")
@pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=["claude", "codex"])
@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_nothing_unseen_before_it_hides_a_shell_command(agent: Agent, unseen: str) -> None:
    assert "shell command" in agent.input.why_not(f"{unseen}!touch made")
    assert agent.input.why_not(f"{unseen}Build it!") == ""


@pytest.mark.spec("B2")
@given(st.text(st.characters(categories=["Cf", "Zs", "Zl", "Zp", "Mn"])))
def test_no_text_without_anything_visible_hides_a_shell_command(unseen: str) -> None:
    assert CLAUDE.input.why_not(f"{unseen}!touch made")
    assert CODEX.input.why_not(f"{unseen}!touch made")


@pytest.mark.spec("B2")
@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
def test_a_command_is_one_whatever_unseen_is_before_it(unseen: str) -> None:
    given = Parcel(
        1, SessionId("s"), f"{unseen}/compact", Step.PENDING, datetime(2026, 1, 1, tzinfo=UTC)
    )

    assert given.is_command


@pytest.mark.spec("B2")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_words_are_the_same_before_and_after_a_rewriting(words: str) -> None:
    assert same_words(words, CLAUDE.input.rewriting.rewritten(words))
    assert EXACT.rewritten(words) == EXACT.typed(words) == words
    assert EXACT.changes(words) == ""


@pytest.mark.spec("B2")
def test_other_words_stay_others() -> None:
    assert not same_words("cafe", "caf\u00e9")
    assert not same_words("a b", "ab")
