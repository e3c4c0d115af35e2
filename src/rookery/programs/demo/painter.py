"""Replaces the live area by relative moves: the scrollback holds each line once. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rookery.programs.demo.layout import width
from rookery.programs.demo.screen import Frame, Row

_ERASE_ROW = "\x1b[2K"
_REMEMBER, _RETURN = "\x1b7", "\x1b8"
_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"
#: A row wider than we think is cut off, instead of making two of one.
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"


@dataclass(slots=True)
class Painter:
    #: Whether the terminal breaks rows anew when it becomes narrower: not the alternate screen.
    reflows: bool = True
    painted: Frame | None = None

    def paint(self, printed: Sequence[str], frame: Frame, columns: int) -> str:
        """Return what prints rows for good, and shows ``frame`` below them."""
        parts = [self.erase(columns), *(f"{row}\r\n" for row in printed), _CUT]
        parts.append("\r\n".join(map(_styled, frame.rows)))
        parts += [_WRAP, _up(len(frame.rows) - 1 - frame.cursor_row), "\r"]
        parts.append(f"\x1b[{frame.cursor_column}C" if frame.cursor_column else "")
        self.painted = frame
        return "".join(parts)

    def erase(self, columns: int) -> str:
        """Return what removes the live area, and leaves the cursor where it began."""
        if self.painted is None:
            return ""
        frame, self.painted = self.painted, None
        heights = [self._height(row, columns) for row in frame.rows]
        above = sum(heights[: frame.cursor_row])
        above += frame.cursor_column // columns if self.reflows else 0
        # Row by row: clearing the whole screen at once would push it into tmux' scrollback. And
        # back by memory: a lower terminal has lost rows at its end, which cannot be counted.
        rows = "\x1b[B".join([_ERASE_ROW] * sum(heights))
        return f"\r{_up(above)}{_REMEMBER}{rows}{_RETURN}"

    def _height(self, row: Row, columns: int) -> int:
        return max(-(-width(row.text) // columns), 1) if self.reflows else 1


def _styled(row: Row) -> str:
    return f"{_DIM}{row.text}{_PLAIN}" if row.is_dim else row.text


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows > 0 else ""
