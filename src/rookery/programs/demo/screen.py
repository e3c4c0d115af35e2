"""The live area below the conversation, as rows. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.programs.demo.blocks import Block, Kind
from rookery.programs.demo.dialog import Dialog
from rookery.programs.demo.input import Draft, paste_label
from rookery.programs.demo.layout import lay_out, width

#: Rows of the draft beyond which it is shown by name.
TALLEST_DRAFT = 20

#: Pictures of the working line a second, and what turns there.
PICTURES = 4
_GLYPHS = "✢✳✶✻✽"

#: Rows around the words in the box: two rules, the status line, the blank one on top.
_FURNITURE = 4


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    is_dim: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of the live area. The cursor's row counts from its top."""

    rows: tuple[Row, ...]
    cursor_row: int
    cursor_column: int


@dataclass(frozen=True, slots=True)
class Work:
    """A turn that runs."""

    seconds: float
    words: str = ""  #: those of the block that is being spoken


@dataclass(frozen=True, slots=True)
class View:
    """All that the live area shows."""

    draft: Draft
    status: str
    is_starting: bool = False
    work: Work | None = None
    dialog: Dialog | None = None
    queued: tuple[str, ...] = ()


def draw(view: View, columns: int, lines: int) -> Frame:
    """Draw ``view`` at most ``lines`` high: what does not fit is cut off above."""
    if view.dialog is not None:
        box, row, column = _dialog(view.dialog, columns)
    elif view.is_starting:
        return Frame((Row(""), Row("Starting…")), 1, width("Starting…"))
    else:
        box = _draft(view.draft, columns)[-max(lines - _FURNITURE, 1) :]
        row, column = len(box) - 1, width(box[-1].text)
    rule = Row("─" * columns, is_dim=True)
    above = [*_above(view, columns), rule]
    rows = [*above, *box, rule, *_status(view, columns)]
    hidden = max(len(rows) - lines, 0)
    cursor = max(len(above) + row - hidden, 0)
    return Frame(tuple(rows[hidden:]), cursor, min(column, columns - 1))


def _above(view: View, columns: int) -> list[Row]:
    rows = [Row("")]
    if view.work is None or view.dialog is not None:
        return rows
    if view.work.words:
        rows += map(Row, [*Block(Kind.WORDS, view.work.words).rows(columns)[1:], ""])
    glyph = _GLYPHS[int(view.work.seconds * PICTURES) % len(_GLYPHS)]
    working = f"{glyph} Working… ({int(view.work.seconds)}s · esc to interrupt)"
    rows.append(Row(_first_row(working, "", columns)))
    rows += (Row(_first_row(text, "  ❯ ", columns), is_dim=True) for text in view.queued)
    return rows


def _draft(draft: Draft, columns: int) -> list[Row]:
    text = draft.shown
    # Counted roughly first: laying out a megabyte at every key would be felt.
    is_tall = len(text) > TALLEST_DRAFT * columns
    if is_tall or len(_draft_rows(text, columns)) > TALLEST_DRAFT:
        text = paste_label(draft.pastes + 1, draft.text)
    return [Row(row) for row in _draft_rows(text, columns)]


def _draft_rows(text: str, columns: int) -> list[str]:
    # One cell is left free, so that the cursor has a place after the last character.
    return lay_out(text, Kind.PROMPT.value, columns - 1)


def _dialog(dialog: Dialog, columns: int) -> tuple[list[Row], int, int]:
    rows = lay_out(dialog.title, " ", columns)
    rows += lay_out(dialog.text, "   ", columns)
    rows += lay_out(dialog.prompt, " ", columns) if dialog.prompt else []
    cursor = len(rows)
    for index, option in enumerate(dialog.options):
        mark = " ❯ " if index == dialog.selected else "   "
        if index == dialog.selected:
            cursor = len(rows)
        rows += lay_out(f"{index + 1}. {option.label}", mark, columns)
    return [Row(row) for row in rows], cursor, 1


def _status(view: View, columns: int) -> list[Row]:
    return [Row(_first_row(view.status, "  ", columns), is_dim=True)]


def _first_row(text: str, mark: str, columns: int) -> str:
    first, *others = text.split("\n", 1)
    rows = lay_out(first[:columns], mark, columns - 1)
    return rows[0] + ("…" if others or len(rows) > 1 else "")
