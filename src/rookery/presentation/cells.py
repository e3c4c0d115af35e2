"""Fit text to a number of terminal cells: cut, pad and wrap it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rookery.presentation.texts import plain

#: Columns between two tab stops.
TAB_CELLS = 4


@lru_cache(maxsize=8_192)
def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {
        "Cf",
        "Me",
        "Mn",
    }:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cells(text: str) -> int:
    """Count the terminal cells that a text occupies."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def cut(text: str, width: int) -> str:
    """Cut text to a number of cells and mark the cut."""
    if cells(text) <= width:
        return text
    return f"{_head(text, width - 1)}…" if width > 0 else ""


def cut_left(text: str, width: int) -> str:
    """Cut text at its start: the end of a path is the most useful part."""
    return cut(text[::-1], width)[::-1]


def fitted(text: str, width: int) -> str:
    """Cut or pad text to exactly a number of cells."""
    short = cut(text, width)
    return short + " " * (width - cells(short))


def _head(text: str, width: int) -> str:
    """Return the beginning of a text that fits into a number of cells."""
    used = 0
    for place, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return text[:place]
    return text


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, broken at spaces where a line is too long."""
    for line in plain(text).expandtabs(TAB_CELLS).split("\n"):
        yield from _broken(line.rstrip(), max(width, 1))


def _broken(line: str, width: int) -> Iterator[str]:
    # Continued lines keep the indentation, so that lists and code stay readable.
    indent = _head(line[: len(line) - len(line.lstrip())], width // 2)
    while cells(line) > width:
        head = _head(line, width) or line[0]
        if len(head) <= len(indent):
            indent = ""  # beside it there is no room for a wide character
        at = head.rfind(" ", len(indent) + 1)
        if at > len(head) // 2:
            head = head[:at]
        yield head.rstrip()
        line = indent + line[len(head) :].lstrip(" ")
    yield line


def folded(text: str, width: int) -> str:
    """Break lines that are longer than a number of cells."""
    rows: list[str] = []
    for line in text.split("\n"):
        row, used_cells = "", 0
        for each in line:
            if row and used_cells + cells(each) > width:
                rows.append(row)
                row, used_cells = "", 0
            row, used_cells = row + each, used_cells + cells(each)
        rows.append(row)
    return "\n".join(rows)
