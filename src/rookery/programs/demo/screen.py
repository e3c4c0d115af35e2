"""What is on the screen: printed blocks, the live area below them, and how both are painted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, repeat

from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.input import Draft, paste_label

#: A draft of more rows is shown as a label.
MAX_DRAFT_ROWS = 20

SPINNER_FRAMES_PER_S = 4
_SPINNER = "✢✳✶✻✽"

#: Rows around the draft: a blank row, two rules and the status line.
_FURNITURE_ROWS = 4

#: Control characters would move the cursor: a tab becomes blanks, the others are removed.
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if code != ord("\n")}
_VISIBLE = {**_CONTROLS, ord("\t"): "    "}

_WORD = re.compile(r"\S+\s*|\s+")

_ERASE_ROW = "\x1b[2K"
_SAVE_CURSOR, _RESTORE_CURSOR = "\x1b7", "\x1b8"
_DIM, _NOT_DIM = "\x1b[2m", "\x1b[22m"
#: The terminal cuts a row that is wider than computed, instead of wrapping it into two.
_WRAP_OFF, _WRAP_ON = "\x1b[?7l", "\x1b[?7h"


def width(text: str) -> int:
    """Count the cells of ``text``; approximate for emoji made of several characters."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def wrap(line: str, limit: int) -> list[str]:
    """Break a line into rows of at most ``limit`` cells: between words, or in a long word."""
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
        # Blanks that do not fit are dropped, so that no row begins with one.
        row = _chop(row + word[len(letters) :], limit)[0]
    return [*rows, row]


def lay_out(text: str, mark: str, limit: int) -> list[str]:
    """Break ``text`` into rows; ``mark`` precedes the first, an indent the others."""
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
    """Cut ``text`` into pieces of at most ``limit`` cells."""
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


class PrintedKind(StrEnum):
    """The mark at the beginning of a block."""

    BANNER = " "
    PROMPT = "❯ "
    WORDS = "● "
    RESULT = "  ⎿ "  #: of the block above it


@dataclass(frozen=True, slots=True)
class PrintedText:
    """A part of the conversation; it is printed once and scrolls with the terminal."""

    kind: PrintedKind
    text: str

    def rows(self, columns: int) -> list[str]:
        rows = lay_out(self.text, self.kind.value, columns)
        return rows if self.kind is PrintedKind.RESULT else ["", *rows]


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    is_dim: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of the live area; the cursor's row counts from the top."""

    rows: tuple[Row, ...]
    cursor_row: int
    cursor_column: int


@dataclass(frozen=True, slots=True)
class RunningTurn:
    seconds: float
    partial: str = ""  #: the part of an incomplete block that is printed already


@dataclass(frozen=True, slots=True)
class LiveArea:
    """Everything that the area below the conversation shows."""

    draft: Draft
    status: str
    is_starting: bool = False
    turn: RunningTurn | None = None
    dialog: ChoiceDialog | None = None
    queued: tuple[str, ...] = ()


def draw(area: LiveArea, columns: int, lines: int) -> Frame:
    """Draw the live area at most ``lines`` high; its top is cut off if it is higher."""
    if area.dialog is not None:
        box, row, column = _dialog(area.dialog, columns)
    elif area.is_starting:
        return Frame((Row(""), Row("Starting…")), 1, width("Starting…"))
    else:
        box = _draft(area.draft, columns)[-max(lines - _FURNITURE_ROWS, 1) :]
        row, column = len(box) - 1, width(box[-1].text)
    rule = Row("─" * columns, is_dim=True)
    above = [Row(""), *_progress(area, columns), rule]
    status = Row(_first_row(area.status, "  ", columns), is_dim=True)
    rows = [*above, *box, rule, status]
    hidden = max(len(rows) - lines, 0)
    cursor = max(len(above) + row - hidden, 0)
    return Frame(tuple(rows[hidden:]), cursor, min(column, columns - 1))


def _progress(area: LiveArea, columns: int) -> list[Row]:
    """Return the rows about the running turn and the prompts queued behind it."""
    if area.turn is None or area.dialog is not None:
        return []
    rows: list[Row] = []
    if area.turn.partial:
        words = PrintedText(PrintedKind.WORDS, area.turn.partial)
        rows += map(Row, [*words.rows(columns)[1:], ""])
    glyph = _SPINNER[int(area.turn.seconds * SPINNER_FRAMES_PER_S) % len(_SPINNER)]
    working = f"{glyph} Working… ({int(area.turn.seconds)}s · esc to interrupt)"
    rows.append(Row(_first_row(working, "", columns)))
    rows += (Row(_first_row(text, "  ❯ ", columns), is_dim=True) for text in area.queued)
    return rows


def _draft(draft: Draft, columns: int) -> list[Row]:
    text = draft.shown
    # Laying out a megabyte at every key would be slow, so its rows are estimated first.
    is_tall = len(text) > MAX_DRAFT_ROWS * columns
    if is_tall or len(_draft_rows(text, columns)) > MAX_DRAFT_ROWS:
        text = paste_label(draft.pastes + 1, draft.text)
    return [Row(row) for row in _draft_rows(text, columns)]


def _draft_rows(text: str, columns: int) -> list[str]:
    # One cell stays free for the cursor after the last character.
    return lay_out(text, PrintedKind.PROMPT.value, columns - 1)


def _dialog(dialog: ChoiceDialog, columns: int) -> tuple[list[Row], int, int]:
    """Return the rows, and the row and column of the cursor in them."""
    rows = lay_out(dialog.title, " ", columns)
    rows += lay_out(dialog.text, "   ", columns)
    rows += lay_out(dialog.prompt, " ", columns) if dialog.prompt else []
    cursor = len(rows)
    for index, option in enumerate(dialog.options):
        is_selected = index == dialog.selected
        cursor = len(rows) if is_selected else cursor
        mark = " ❯ " if is_selected else "   "
        rows += lay_out(f"{index + 1}. {option.label}", mark, columns)
    return [Row(row) for row in rows], cursor, 1


def _first_row(text: str, mark: str, columns: int) -> str:
    first, *others = text.split("\n", 1)
    rows = lay_out(first[:columns], mark, columns - 1)
    return rows[0] + ("…" if others or len(rows) > 1 else "")


@dataclass(slots=True)
class Painter:
    """Repaints the live area with relative moves: the scrollback gets each line once."""

    #: Whether a narrower terminal wraps rows anew; not on the alternate screen.
    reflows: bool = True
    painted: Frame | None = None

    def paint(self, printed: Sequence[str], frame: Frame, columns: int) -> str:
        """Return the output that prints rows into the conversation and ``frame`` below them."""
        parts = [self.erase(columns), *(f"{row}\r\n" for row in printed), _WRAP_OFF]
        parts.append("\r\n".join(map(_styled, frame.rows)))
        parts += [_WRAP_ON, _up(len(frame.rows) - 1 - frame.cursor_row), "\r"]
        parts.append(f"\x1b[{frame.cursor_column}C" if frame.cursor_column else "")
        self.painted = frame
        return "".join(parts)

    def erase(self, columns: int) -> str:
        """Return the output that erases the live area and moves the cursor to its start."""
        if self.painted is None:
            return ""
        frame, self.painted = self.painted, None
        heights = [self._height(row, columns) for row in frame.rows]
        above = sum(heights[: frame.cursor_row])
        above += frame.cursor_column // columns if self.reflows else 0
        # Row by row: clearing the whole screen would push it into tmux's scrollback. The cursor
        # is saved: a terminal that became lower has lost an unknown number of rows.
        rows = "\x1b[B".join([_ERASE_ROW] * sum(heights))
        return f"\r{_up(above)}{_SAVE_CURSOR}{rows}{_RESTORE_CURSOR}"

    def _height(self, row: Row, columns: int) -> int:
        return max(-(-width(row.text) // columns), 1) if self.reflows else 1


def _styled(row: Row) -> str:
    return f"{_DIM}{row.text}{_NOT_DIM}" if row.is_dim else row.text


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows > 0 else ""
