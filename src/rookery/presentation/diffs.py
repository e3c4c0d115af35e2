"""Tell the lines of a difference apart, so that they can be coloured."""

from __future__ import annotations

from enum import Enum, auto


class DiffLineKind(Enum):
    HEADER = auto()  #: names a file
    HUNK = auto()  #: says which lines follow
    ADDED = auto()
    REMOVED = auto()
    UNCHANGED = auto()


#: The beginnings of lines and their kinds; the first that matches counts.
_BEGINNINGS = (
    ("+++", DiffLineKind.HEADER),
    ("---", DiffLineKind.HEADER),
    ("diff ", DiffLineKind.HEADER),
    ("index ", DiffLineKind.HEADER),
    ("+", DiffLineKind.ADDED),
    ("-", DiffLineKind.REMOVED),
    ("@@", DiffLineKind.HUNK),
)


def kind_of_line(line: str) -> DiffLineKind:
    found = (kind for beginning, kind in _BEGINNINGS if line.startswith(beginning))
    return next(found, DiffLineKind.UNCHANGED)
