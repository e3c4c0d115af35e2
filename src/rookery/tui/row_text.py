"""The rows of the list as text, in columns that fit its width."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rookery.presentation.ages import age
from rookery.presentation.cells import cells, cut_left, fitted
from rookery.presentation.states import Standing, standing, state_word
from rookery.presentation.texts import one_line
from rookery.tui.board import BoardHeading, BoardRow, BoardSession
from rookery.tui.session_view import Extras, sign, what_it_does
from rookery.tui.styled import Span, StyledLine

#: Cells of the signs before a name (marked, state, muted), and of an age with its space.
SIGN_CELLS, AGE_CELLS = 4, 5

#: Cells of the longest state, ``turn failed``.
STATE_CELLS = 11

#: Limits of the column of names in cells, and the divisor of the width that limits it, too.
MIN_NAME_CELLS, MAX_NAME_CELLS, NAME_SHARE = 8, 28, 3

#: Minimum width of a list with a column for the state, and of one that has the agent, too.
MIN_WIDTH_WITH_STATE, MIN_WIDTH_WITH_AGENT = 56, 70

_STYLES = {
    Standing.NEEDS_YOU: "needs-you",
    Standing.FAILED: "failed",
    Standing.WORKING: "working",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of the columns in cells; 0 for a column that does not fit."""

    name: int
    agent: int
    state: int
    what: int


def columns(rows: Iterable[BoardRow], width: int) -> Columns:
    """Divide the width of the list among its columns."""
    sessions = [row for row in rows if isinstance(row, BoardSession)]
    longest_name = max((cells(_name(row)) for row in sessions), default=MIN_NAME_CELLS)
    longest_agent = max((cells(row.session.agent) for row in sessions), default=0)
    state = STATE_CELLS + 1 if width >= MIN_WIDTH_WITH_STATE else 0
    agent = longest_agent + 1 if width >= MIN_WIDTH_WITH_AGENT else 0
    limit = min(max(width // NAME_SHARE, MIN_NAME_CELLS), MAX_NAME_CELLS)
    name = min(max(longest_name, MIN_NAME_CELLS), limit) + 1
    return Columns(name, agent, state, width - SIGN_CELLS - name - agent - state - AGE_CELLS)


def _name(row: BoardSession) -> str:
    return "  " * row.depth + one_line(row.session.name)


def row_line(row: BoardRow, layout: Columns, extras: Extras, now: datetime) -> StyledLine:
    """Return a row as styled text; its width is that of the list."""
    if isinstance(row, BoardHeading):
        return _heading(row, layout)
    session = row.session
    style = _STYLES.get(standing(session), "idle" if session.is_unread else "faint")
    faint = "faint" if style == "faint" else ""
    spans = (
        Span("✓" if row.is_marked else " ", "marked"),
        Span(f"{sign(session)} ", style),
        Span("♪" if row.is_muted else " ", "faint"),
        Span(fitted(_name(row), layout.name - 1) + " ", _name_style(row)),
        Span(_column(session.agent, layout.agent), "faint"),
        Span(_column(state_word(session), layout.state), style),
        Span(f"{age(session.since, now):>{AGE_CELLS - 1}} ", "faint"),
        Span(fitted(what_it_does(session, extras, now), layout.what), faint),
    )
    return tuple(each for each in spans if each.text)


def _name_style(row: BoardSession) -> str:
    if standing(row.session) is Standing.NEEDS_YOU or row.session.is_unread:
        return "strong"
    return "faint" if standing(row.session) is Standing.ENDED else ""


def _column(text: str, width: int) -> str:
    return fitted(text, width - 1) + " " if width else ""


def _heading(row: BoardHeading, layout: Columns) -> StyledLine:
    width = SIGN_CELLS + layout.name + layout.agent + layout.state + layout.what + AGE_CELLS
    count = f" {row.count}"
    title = cut_left(one_line(row.title), width - cells(count) - 1)
    return (Span(f" {title}", "heading"), Span(count, "faint"))
