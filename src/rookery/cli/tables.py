"""Tables and lines that fit the width of the terminal."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Columns where the output is not a terminal.
WIDTH_WITHOUT_TERMINAL = 120

#: Cells below which a column that may be cut says nothing.
MIN_CELLS = 14

#: Cells between two columns.
GAP_CELLS = 2


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, and how they give way where the terminal is narrow."""

    titles: tuple[str, ...]
    spared: tuple[str, ...]  #: left out, the first one first
    shrinking: tuple[str, ...]  #: cut, down to ``MIN_CELLS``
    last_resort: str  #: cut where all that shrink are left out

    @property
    def head(self) -> dict[str, str]:
        return dict(zip(self.titles, self.titles, strict=True))

    def fit(self, rows: Sequence[Mapping[str, str]], width: int) -> dict[str, int]:
        """Return the width of each column that is shown, by its title."""
        widths = {
            title: max(cells(row[title]) for row in (self.head, *rows)) for title in self.titles
        }
        for spared in self.spared:
            if self._minimum(widths) <= width:
                break
            del widths[spared]
        *others, last = [each for each in self.shrinking if each in widths] or [
            self.last_resort
        ]
        fixed = [need for title, need in widths.items() if title not in {*others, last}]
        left = width - sum(fixed) - GAP_CELLS * (len(widths) - 1)
        for title in others:
            widths[title] = min(widths[title], max(left // 2, left - widths[last]))
            left -= widths[title]
        widths[last] = max(min(widths[last], left), 0)
        return widths

    def _minimum(self, widths: Mapping[str, int]) -> int:
        least = (
            min(need, MIN_CELLS) if title in self.shrinking else need
            for title, need in widths.items()
        )
        return sum(least) + GAP_CELLS * (len(widths) - 1)


def line_of(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    """Write a row of a table; what is wider than its column is cut."""
    fitting = {title: cut(row[title], width) for title, width in widths.items()}
    padded = (cell + " " * (widths[title] - cells(cell)) for title, cell in fitting.items())
    return (" " * GAP_CELLS).join(padded).rstrip()


def width_here() -> int:
    """Return the columns of this terminal, or those that ``COLUMNS`` says.

    ``shutil`` has the same function, but loads its compression modules.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size().columns or WIDTH_WITHOUT_TERMINAL
    except OSError:  # the output is no terminal
        return WIDTH_WITHOUT_TERMINAL


def cells(text: str) -> int:
    """Count the cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, width: int) -> str:
    """Cut text to so many cells, and mark the cut."""
    if cells(text) <= width:
        return text
    if width < 1:
        return ""
    text = text[:width]
    while cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def cut_left(text: str, width: int) -> str:
    """Cut text at its beginning: the end of a path tells most."""
    return cut(text[::-1], width)[::-1]


def folded(text: str, width: int) -> str:
    """Break lines that are longer than so many cells."""
    rows: list[str] = []
    for line in text.split("\n"):
        row, taken = "", 0
        for each in line:
            if row and taken + cells(each) > width:
                rows.append(row)
                row, taken = "", 0
            row, taken = row + each, taken + cells(each)
        rows.append(row)
    return "\n".join(rows)
