"""Fuzzy search: finds each word of a query, or its letters in order and close together."""

from __future__ import annotations

from collections.abc import Iterable

#: Characters at the start of a text that are searched for scattered letters; in the rest,
#: letters must be adjacent.
MAX_FUZZY_CHARACTERS = 120

#: The share of a match that must be letters of the query.
MIN_CLOSENESS = 0.5

#: Scores of a match: the whole text, its start, the start of a word, inside one, or scattered.
_WHOLE, _AT_START, _AT_WORD, _INSIDE, _SCATTERED = 5.0, 4.0, 3.0, 2.0, 1.0


def score(query: str, texts: Iterable[str]) -> float:
    """Return how well texts match a query; 0 if a word of it is found in none of them.

    The texts are ordered: a match in an earlier one counts more.
    """
    lowered = [each.lower() for each in texts]
    found = [_best(word, lowered) for word in query.lower().split()]
    return sum(found) if all(found) else 0.0


def _best(word: str, texts: list[str]) -> float:
    scores = (_match(word, text) / (1 + place) for place, text in enumerate(texts))
    return max(scores, default=0.0)


def _match(word: str, text: str) -> float:
    if word == text:
        return _WHOLE
    at = text.find(word)
    if at >= 0:
        is_word = at > 0 and not text[at - 1].isalnum()
        return _AT_START if at == 0 else _AT_WORD if is_word else _INSIDE
    return _SCATTERED * _closeness(word, text[:MAX_FUZZY_CHARACTERS])


def _closeness(word: str, text: str) -> float:
    """Return how close together the letters of a word are; 0 if they are too far apart."""
    best, start = 0.0, text.find(word[0])
    while start >= 0:
        if (end := _end(word, text, start)) < 0:
            break
        best = max(best, len(word) / (end - start))
        start = text.find(word[0], start + 1)
    # Letters that are scattered over a whole sentence are no match.
    return best if best >= MIN_CLOSENESS else 0.0


def _end(word: str, text: str, start: int) -> int:
    at = start - 1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return -1
    return at + 1
