"""The rows of the list as text, in columns that fit its width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rookery.tui.board import BoardRow, HeadingRow, SessionRow
from rookery.tui.plain_text import cells, cut_left, fitted, one_line
from rookery.tui.session_view import (
    Extras,
    Urgency,
    glyph,
    is_unread,
    state_word,
    urgency,
    what_it_does,
)
from rookery.tui.styled import Span, StyledLine
from rookery.tui.times import ago

#: Cells of the mark, the state's sign and the space after it; and of an age with its space.
SIGN_CELLS, AGE_CELLS = 4, 5

#: Cells of the longest state, ``permission``.
STATE_CELLS = 10

#: Cells that the last column should have before others get more than they need.
MIN_WHAT_CELLS = 24

#: Limits of the names' column, and its share of the width.
MIN_NAME_CELLS, MAX_NAME_CELLS, NAME_SHARE = 8, 28, 3

#: The narrowest lists with a column for the state and for the agent.
MIN_WIDTH_WITH_STATE, MIN_WIDTH_WITH_AGENT = 56, 70

_STYLES = {
    Urgency.NEEDS_YOU: "needs-you",
    Urgency.FAILED: "failed",
    Urgency.WORKING: "working",
    Urgency.IDLE: "faint",
    Urgency.ENDED: "faint",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of the columns in cells; a column that does not fit has none."""

    name: int
    agent: int
    state: int
    what: int


def columns(rows: Iterable[BoardRow], width: int) -> Columns:
    """Divide the width of the list among its columns."""
    sessions = [row for row in rows if isinstance(row, SessionRow)]
    longest_name = max((cells(_name(row)) for row in sessions), default=MIN_NAME_CELLS)
    longest_agent = max((cells(row.session.agent) for row in sessions), default=0)
    state = STATE_CELLS + 1 if width >= MIN_WIDTH_WITH_STATE else 0
    agent = longest_agent + 1 if width >= MIN_WIDTH_WITH_AGENT else 0
    limit = min(max(width // NAME_SHARE, MIN_NAME_CELLS), MAX_NAME_CELLS)
    name = min(max(longest_name, MIN_NAME_CELLS), limit) + 1
    return Columns(name, agent, state, width - SIGN_CELLS - name - agent - state - AGE_CELLS)


def _name(row: SessionRow) -> str:
    return "  " * row.depth + one_line(row.session.name)


def row_line(row: BoardRow, layout: Columns, extras: Extras, now: datetime) -> StyledLine:
    """Return a row as styled text; its width is that of the list."""
    if isinstance(row, HeadingRow):
        return _heading(row, layout)
    session = row.session
    style = "idle" if is_unread(session) else _STYLES[urgency(session)]
    faint = "faint" if style == "faint" else ""
    spans = (
        Span("✓" if row.is_marked else " ", "marked"),
        Span(f"{glyph(session)} ", style),
        Span("♪" if row.is_muted else " ", "faint"),
        Span(fitted(_name(row), layout.name - 1) + " ", _name_style(row)),
        Span(_column(session.agent, layout.agent), "faint"),
        Span(_column(state_word(session), layout.state), style),
        Span(f"{ago(session.since, now):>{AGE_CELLS - 1}} ", "faint"),
        Span(fitted(what_it_does(session, extras), layout.what), faint),
    )
    return tuple(each for each in spans if each.text)


def _name_style(row: SessionRow) -> str:
    if urgency(row.session) is Urgency.NEEDS_YOU or is_unread(row.session):
        return "strong"
    return "faint" if urgency(row.session) is Urgency.ENDED else ""


def _column(text: str, width: int) -> str:
    return fitted(text, width - 1) + " " if width else ""


def _heading(row: HeadingRow, layout: Columns) -> StyledLine:
    width = SIGN_CELLS + layout.name + layout.agent + layout.state + layout.what + AGE_CELLS
    count = f" {row.count}"
    title = cut_left(one_line(row.title), width - cells(count) - 1)
    return (Span(f" {title}", "heading"), Span(count, "faint"))
