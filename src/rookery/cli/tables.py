"""Tables and lines that fit the width of the terminal."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rookery.presentation.cells import cells, cut, cut_left

#: Columns to assume if the output is not a terminal.
WIDTH_WITHOUT_TERMINAL = 120

#: Rows to assume if the output is not a terminal.
ROWS_WITHOUT_TERMINAL = 24

#: Cells below which a shortened column is useless.
MIN_CELLS = 14

#: Cells between two columns.
GAP_CELLS = 2


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, and how they shrink in a narrow terminal."""

    titles: tuple[str, ...]
    spared: tuple[str, ...]  #: columns to drop, in this order
    shrinking: tuple[str, ...]  #: columns to cut, down to ``MIN_CELLS``
    last_resort: str  #: the column to cut if all shrinking ones are dropped
    room: int = MIN_CELLS  #: cells that the last column gets before others are cut or dropped
    cut_at_start: frozenset[str] = frozenset()  #: columns whose ends say most, such as paths

    @property
    def head(self) -> dict[str, str]:
        return dict(zip(self.titles, self.titles, strict=True))

    def fit(self, rows: Sequence[Mapping[str, str]], width: int) -> dict[str, int]:
        """Return the width of each visible column by title."""
        widths = {
            title: max(cells(row[title]) for row in (self.head, *rows)) for title in self.titles
        }
        for spared in self.spared:
            if self._minimum(widths) <= width:
                break
            widths.pop(spared, None)
        *others, last = [each for each in self.shrinking if each in widths] or [
            self.last_resort
        ]
        fixed = [need for title, need in widths.items() if title not in {*others, last}]
        remaining = width - sum(fixed) - GAP_CELLS * (len(widths) - 1)
        for title in others:
            kept = min(widths[last], max(self.room, (remaining + 1) // 2))
            widths[title] = max(min(widths[title], remaining - kept), 0)
            remaining -= widths[title]
        widths[last] = max(min(widths[last], remaining), 0)
        return widths

    def _minimum(self, widths: Mapping[str, int]) -> int:
        min_widths = (self._least(title, need) for title, need in widths.items())
        return sum(min_widths) + GAP_CELLS * (len(widths) - 1)

    def _least(self, title: str, need: int) -> int:
        if title not in self.shrinking:
            return need
        return min(need, self.room if title == self.last_resort else MIN_CELLS)


def line_of(
    row: Mapping[str, str], widths: Mapping[str, int], cut_at_start: Collection[str] = ()
) -> str:
    """Return a row of a table as a line, with cells cut to the width of their columns."""
    fitting = {
        title: (cut_left if title in cut_at_start else cut)(row[title], width)
        for title, width in widths.items()
    }
    padded = (cell + " " * (widths[title] - cells(cell)) for title, cell in fitting.items())
    return (" " * GAP_CELLS).join(padded).rstrip()


def width_here() -> int:
    """Return the value of ``COLUMNS``, or else the columns of this terminal.

    ``shutil`` has the same function, but it loads compression modules.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size().columns or WIDTH_WITHOUT_TERMINAL
    except OSError:  # the output is not a terminal
        return WIDTH_WITHOUT_TERMINAL


def size_here() -> tuple[int, int]:
    """Return the columns and rows of this terminal."""
    try:
        rows = os.get_terminal_size().lines or ROWS_WITHOUT_TERMINAL
    except OSError:  # the output is not a terminal
        rows = ROWS_WITHOUT_TERMINAL
    return width_here(), rows
