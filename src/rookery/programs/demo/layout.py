"""How wide text is in a terminal, and where its lines break. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain, repeat

#: Control characters would move the cursor: a tab becomes blanks, the others are left out.
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if code != ord("\n")}
_VISIBLE = {**_CONTROLS, ord("\t"): "    "}

_WORD = re.compile(r"\S+\s*|\s+")


def width(text: str) -> int:
    """Count the cells ``text`` takes. Near enough for emoji made of several characters."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def wrap(line: str, limit: int) -> list[str]:
    """Break a line into rows of at most ``limit`` cells: between words, or in one too long."""
    if width(line) <= limit:
        return [line]
    rows: list[str] = []
    row = ""
    for word in _WORD.findall(line):
        letters = word.rstrip()
        if row and width(row) + width(letters) > limit:
            rows.append(row)
            row = ""
        *full, row = _chop(row + letters, limit)
        rows += full
        # Blanks at the end of a full row are not shown: no row begins with one.
        row = _chop(row + word[len(letters) :], limit)[0]
    return [*rows, row]


def lay_out(text: str, mark: str, limit: int) -> list[str]:
    """Break ``text`` into rows: ``mark`` before the first, as much blank before the others."""
    room = max(limit - width(mark), 1)
    lines = text.translate(_VISIBLE).split("\n")
    marks = chain([mark], repeat(" " * width(mark)))
    rows = (row for line in lines for row in wrap(line, room))
    return [before + row for before, row in zip(marks, rows, strict=False)]


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _chop(text: str, limit: int) -> list[str]:
    """Cut ``text`` into pieces of ``limit`` cells, but for the last."""
    if text.isascii():
        return [text[start : start + limit] for start in range(0, len(text), limit)] or [""]
    pieces = [""]
    room = limit
    for character in text:
        cells = _cells(character)
        if cells > room and pieces[-1]:
            pieces.append("")
            room = limit
        pieces[-1] += character
        room -= cells
    return pieces
