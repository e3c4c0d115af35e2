"""The names and titles of sessions."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Container

from rookery.model.confusables import looks_like
from rookery.model.errors import BadInput
from rookery.model.transliteration import transliterated

#: Valid names go into command lines, tmux targets and file names: no special characters.
_VALID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", re.ASCII)

_WORD = re.compile(r"[^\W_]+")

#: Words that do not describe what a session is about.
STOP_WORDS = frozenset(
    _WORD.findall(
        """a about all an and any are as at be been but by can could did do does for from
        get had has have he her hers him his how i if in into is it its just let like make
        may me my no not now of on or our out please shall she should so some such than that
        the their them then there these they this those to up us was we were what when where
        which who why will with would you your"""
    )
)

#: Senders that are not sessions: a session with such a name could impersonate them.
RESERVED = ("person", "user", "system", "rookery")

#: The name of a session whose prompt has no usable word.
NAMELESS = "session"

#: ``distinct`` tries numbers up to this one in order; above it, it may skip free numbers.
MAX_CONSECUTIVE_NUMBER = 20

#: Characters of a refused name that the error shows: enough to recognise it.
SHOWN_NAME_CHARACTERS = 80

#: Characters of a title: what fits the width of a terminal or a phone.
MAX_TITLE_CHARACTERS = 70


def checked(name: str) -> str:
    """Return ``name`` if it is a valid session name. Raises ``BadInput``."""
    if not _VALID.fullmatch(name) or ".." in name:
        allowed = "letters, digits, '.', '_' and '-', at most 64 and no '..'"
        first = "begins with a letter or a digit"
        raise BadInput(
            f"the name {name[:SHOWN_NAME_CHARACTERS]!r}. A name has {allowed}, and {first}."
        )
    if is_reserved(name):
        raise BadInput(f"the name {name!r} could be taken for a person or for Rookery.")
    return name


def is_reserved(name: str) -> bool:
    """Return whether a name, without trailing digits and punctuation, is reserved."""
    return any(looks_like(name.rstrip("-._0123456789"), each) for each in RESERVED)


def name_from(prompt: str) -> str:
    """Return a session name made from the first words of a prompt, without stop words."""
    words = (word for word in _WORD.findall(transliterated(prompt)) if word.isascii())
    telling = [word for word in words if word not in STOP_WORDS]
    name = "-".join(telling[:3])[:48].strip("-")
    return NAMELESS if not name or is_reserved(name) else name


def usable(name: str) -> str:
    """Return ``name`` if it is a valid session name, else a valid name made from it."""
    is_valid = _VALID.fullmatch(name) and ".." not in name and not is_reserved(name)
    return name if is_valid else name_from(name)


def title_from(prompt: str, name: str) -> str:
    lines = (line.strip() for line in prompt.splitlines())
    first = next((line for line in lines if line), name)
    return (
        first if len(first) <= MAX_TITLE_CHARACTERS else first[: MAX_TITLE_CHARACTERS - 1] + "…"
    )


def distinct(name: str, taken: Container[str]) -> str:
    """Return ``name``, or ``name-2``, ``name-3`` … if it is taken.

    Uses a binary search: only a few names are looked up in ``taken``, however many there are.
    """

    def is_free(number: int) -> bool:
        return f"{name}-{number}" not in taken

    if name not in taken:
        return name
    number = next(filter(is_free, range(2, MAX_CONSECUTIVE_NUMBER + 1)), None)
    if number is None:
        beyond = 2 * MAX_CONSECUTIVE_NUMBER
        while not is_free(beyond):
            beyond *= 2
        between = range(beyond // 2 + 1, beyond)
        number = between[0] + bisect(between, False, key=is_free)
    return f"{name}-{number}"
