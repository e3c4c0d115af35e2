"""Find the words that a misspelt word was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

#: How alike two words must be, from 0 to 1, and how much a common first letter adds to that.
MIN_LIKENESS, SAME_START_BONUS = 0.8, 0.2

#: The likeness that short words need, in which one wrong letter weighs more, and their length.
MIN_LIKENESS_OF_SHORT, MAX_SHORT_CHARACTERS = 0.6, 3

#: How much less alike than the best word a suggested word may be.
MAX_DISTANCE = 0.2

#: The maximum number of suggested words.
MAX_SUGGESTIONS = 3

#: The maximum numbers of compared characters of a word, and of words it is compared with.
MAX_COMPARED_CHARACTERS, MAX_COMPARED_WORDS = 60, 1_000


def nearest(word: str, words: Iterable[str]) -> list[str]:
    """Return the words that are most like ``word``, the best first."""
    compared = [*dict.fromkeys(words)][:MAX_COMPARED_WORDS]
    scored = sorted(((_likeness(word, each), each) for each in compared), reverse=True)
    best = scored[0][0] if scored else 0.0
    is_short = len(word) <= MAX_SHORT_CHARACTERS
    enough = max(MIN_LIKENESS_OF_SHORT if is_short else MIN_LIKENESS, best - MAX_DISTANCE)
    return [each for score, each in scored if score >= enough][:MAX_SUGGESTIONS]


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a question with the nearest words; empty if none is near."""
    found = nearest(word, words)
    return f"Did you mean {' or '.join(found)}?" if found else ""


def _likeness(one: str, other: str) -> float:
    one = one.casefold()[:MAX_COMPARED_CHARACTERS]
    other = other.casefold()[:MAX_COMPARED_CHARACTERS]
    bonus = SAME_START_BONUS if one[:1] == other[:1] else 0.0
    return SequenceMatcher(None, one, other).ratio() + bonus
