"""The list of sessions: draws the visible rows only, and only those that change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from rookery.presentation.cells import wrapped
from rookery.tui.board import BoardHeading, BoardRow, BoardSession
from rookery.tui.painting import CURSOR, LineView, strip_of
from rookery.tui.row_text import Columns, columns, row_line
from rookery.tui.session_view import Extras
from rookery.tui.styled import StyledLine, line


class SessionPane(LineView, can_focus=True):
    """Shows rows, and which one is selected; the selection stays on its session."""

    class Selected(Message):
        """Another session is selected."""

        def __init__(self, session: str) -> None:
            super().__init__()
            self.session = session

    class Opened(Message):
        """A session was chosen with a second click."""

    def __init__(self) -> None:
        super().__init__(id="sessions")
        self._rows: Sequence[BoardRow] = ()
        self._extras = Extras()
        self._layout_of_rows: Columns = columns((), 40)
        self._drawn: dict[int, StyledLine] = {}
        self._hints: Sequence[str] = ()  #: texts that are shown if there are no rows
        self._hint_lines: Sequence[str] = ()  #: the same texts, in lines that fit
        self.selected = ""  #: the id of a session
        self._place = 0  #: the row of the selection, kept if its session disappears

    @property
    def order(self) -> tuple[str, ...]:
        """Return the ids of the listed sessions from top to bottom."""
        return tuple(row.session.id for row in self._rows if isinstance(row, BoardSession))

    def show(self, rows: Sequence[BoardRow], extras: Extras, hints: Sequence[str]) -> None:
        """Show other rows; ``hints`` are shown if there are none."""
        self._rows, self._extras, self._hints = rows, extras, hints
        self._lay_out()
        self._keep_selection()

    def on_resize(self) -> None:
        self._lay_out()
        self._scroll_to_selection()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._layout_of_rows = columns(self._rows, max(width, 1))
        self._hint_lines = [row for each in self._hints for row in wrapped(each, width - 3)]
        self.virtual_size = Size(width, max(len(self._rows), len(self._hint_lines)))
        self.redraw()

    def redraw(self) -> None:
        """Draw the visible rows whose text has changed, for instance their ages."""
        now = datetime.now(UTC)
        before, self._drawn = self._drawn, {}
        for y in range(self.size.height):
            at = y + self.scroll_offset.y
            self._drawn[y] = self._line(at, now)
            if before.get(y) != self._drawn[y]:
                self.refresh(Region(0, y, self.size.width, 1))

    def _line(self, at: int, now: datetime) -> StyledLine:
        if at < len(self._rows):
            return row_line(self._rows[at], self._layout_of_rows, self._extras, now)
        if not self._rows and at < len(self._hint_lines):
            return line(f"  {self._hint_lines[at]}", "faint" if at else "strong")
        return ()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.redraw()

    def render_line(self, y: int) -> Strip:
        spans = self._drawn.get(y, ())
        is_selected = bool(self._rows) and y + self.scroll_offset.y == self._place
        return strip_of(spans, self.size.width, over=CURSOR if is_selected else None)

    def _keep_selection(self) -> None:
        """Find the selected session in the new rows; if it is gone, take the nearest row."""
        places = [at for at, row in enumerate(self._rows) if isinstance(row, BoardSession)]
        # A session with several tags has a row in each of their groups.
        its_own = [at for at in places if self._session_at(at) == self.selected]
        if places:
            self._move_to(min(its_own or places, key=lambda each: abs(each - self._place)))
        elif self.selected:
            self.selected, self._place = "", 0
            self.post_message(self.Selected(""))

    def _session_at(self, place: int) -> str:
        row = self._rows[place]
        return row.session.id if isinstance(row, BoardSession) else ""

    def select(self, session: str) -> None:
        """Move the selection to the session with this id, if it is listed."""
        for place in range(len(self._rows)):
            if self._session_at(place) == session:
                self._move_to(place)
                return

    def move(self, step: int) -> None:
        """Move the selection by a number of sessions; headings are passed over."""
        places = [at for at, row in enumerate(self._rows) if isinstance(row, BoardSession)]
        if self._place in places:
            at = min(max(places.index(self._place) + step, 0), len(places) - 1)
            self._move_to(places[at])

    def _move_to(self, place: int) -> None:
        row, before = self._rows[place], self._place
        if not isinstance(row, BoardSession):
            return
        self._place = place
        for each in {before, place}:
            self.refresh_line(each)
        self._scroll_to_selection()
        if row.session.id != self.selected:
            self.selected = row.session.id
            self.post_message(self.Selected(self.selected))

    def _scroll_to_selection(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        # The first row of a group is scrolled into view together with its heading.
        is_first = self._place > 0 and isinstance(self._rows[self._place - 1], BoardHeading)
        first = self._place - is_first
        if height and not top <= first <= self._place < top + height:
            y = first if first < top else self._place - height + 1
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place >= len(self._rows):
            return
        if place == self._place and event.chain > 1:
            self.post_message(self.Opened())
        self._move_to(place)
