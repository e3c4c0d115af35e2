"""Read the options of a dialog from the lines of a screen. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: A numbered option; a mark precedes the one that Enter chooses.
_NUMBERED = re.compile(r"[ │┃]*(?P<mark>[❯›●] *)?(?P<number>\d+)\. +(?P<text>\S.*?)[ │]*")

#: The marked option in an unnumbered list.
_MARKED = re.compile(r"(?P<before> *❯ )(?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of a dialog and the index of the marked one."""

    options: tuple[str, ...] = ()
    chosen: int | None = None
    is_numbered: bool = True
    rows: tuple[int, ...] = ()  #: the line on which each option begins


def read(lines: Sequence[str]) -> Choices:
    """Return the last list of options numbered from 1, or else the unnumbered options."""
    options: list[str] = []
    rows: list[int] = []
    chosen: int | None = None
    for row, line in enumerate(lines):
        each = _NUMBERED.fullmatch(line)
        if each is None:
            continue
        number = int(each["number"])
        if number > len(options) + 1:
            options, rows, chosen = [], [], None
            continue
        if chosen is not None and chosen >= number - 1:
            chosen = None
        options, rows = [*options[: number - 1], each["text"]], [*rows[: number - 1], row]
        if each["mark"]:
            chosen = number - 1
    if options:
        return Choices(tuple(options), chosen, is_numbered=True, rows=tuple(rows))
    return _unnumbered(lines)


def _unnumbered(lines: Sequence[str]) -> Choices:
    """Read the marked option, and the lines around it that begin in the column of its text."""
    for row in range(len(lines) - 1, -1, -1):
        if marked := _MARKED.fullmatch(lines[row]):
            column = len(marked["before"])
            first = last = row
            while first and _begins_at(lines[first - 1], column):
                first -= 1
            while last + 1 < len(lines) and _begins_at(lines[last + 1], column):
                last += 1
            texts = tuple(line[column:].strip() for line in lines[first : last + 1])
            rows = tuple(range(first, last + 1))
            return Choices(texts, row - first, is_numbered=False, rows=rows)
    return Choices()


def _begins_at(line: str, column: int) -> bool:
    return not line[:column].strip() and bool(line[column : column + 1].strip())
