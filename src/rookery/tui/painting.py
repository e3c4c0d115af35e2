"""Draw styled lines: the colours of the interface, and a pane that scrolls lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from rookery.tui.styled import StyledLine, fitting, line, text_of, width_of

#: The terminal's own colours, so that light and dark terminals and 16 colours work. Each
#: state can also be told by its sign or word: with NO_COLOR only bold, dim and reverse remain.
STYLES: dict[str, Style] = {
    "": Style.null(),
    "needs-you": Style(color="yellow", bold=True),
    "failed": Style(color="red"),
    "working": Style(color="green"),
    "idle": Style(color="blue"),
    "faint": Style(dim=True),
    "strong": Style(bold=True),
    "heading": Style(bold=True, color="cyan"),
    "marked": Style(bold=True, color="cyan"),
    "command": Style(bold=True),
    "key": Style(bold=True, color="cyan"),
    "prompt": Style(color="cyan"),
    "call": Style(color="magenta"),
    "code": Style(color="green"),
    "chosen": Style(bold=True, color="green"),
    "current": Style(bold=True, color="yellow"),
    "added": Style(color="green"),
    "removed": Style(color="red"),
    "tab": Style(reverse=True),
}

CURSOR = Style(reverse=True)

#: Returns the lines to draw for a width in cells.
LineMaker = Callable[[int], Sequence[StyledLine]]


def strip_of(spans: StyledLine, width: int, *, over: Style | None = None) -> Strip:
    """Return a line as a strip of exactly ``width`` cells; ``over`` replaces its colours."""
    segments = [
        Segment(
            each.text,
            over + Style(bold=STYLES[each.style].bold) if over else STYLES[each.style],
        )
        for each in spans
    ]
    return Strip(segments, width_of(spans)).adjust_cell_length(width, over)


class LineBar(Widget):
    """One line of the interface that shows styled text."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - as in Textual
        super().__init__(id=id)
        self._line: StyledLine = line("")

    @property
    def text(self) -> str:
        return text_of([self._line])

    def show(self, spans: StyledLine) -> None:
        if spans != self._line:
            self._line = spans
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        return strip_of(fitting(self._line, width) if y == 0 else (), width)


class LineView(ScrollView):
    """Scrolls lines, and keeps the scroll bar at their position."""

    def watch_show_vertical_scrollbar(self, is_shown: bool) -> None:
        # Textual does not move the bar while it is hidden, but the lines may scroll.
        if is_shown:
            self.vertical_scrollbar.position = self.scroll_y


class TextPane(LineView, can_focus=False):
    """Scrolls lines that are made for its width; with ``follows``, it stays at their end."""

    def __init__(self, *, id: str | None = None, follows: bool = True) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make: LineMaker = _no_lines
        self._lines: Sequence[StyledLine] = ()
        self._made_for = 0
        self._follows = follows
        self._is_at_end = True

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return text_of([*self._lines])

    @property
    def line_count(self) -> int:
        return len(self._lines)

    @property
    def shows_end(self) -> bool:
        """Return whether the last line is visible."""
        return self.scroll_offset.y + self.size.height >= self.line_count

    def show(self, make: LineMaker, *, from_start: bool = False) -> None:
        """Show other lines; ``from_start`` scrolls to the top, with ``follows`` to the end."""
        self._make = make
        self._remake()
        if self._follows and (from_start or self._is_at_end):
            self.jump(self.max_scroll_y)
        elif from_start:
            self.jump(0)

    def jump(self, y: float) -> None:
        """Scroll to a line at once."""
        # Forced: the scroll bar of lines that were just set may not exist yet.
        self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        if self._made_for != self.scrollable_content_region.width:
            self._remake()
        self._stay_at_end()
        # Again after the layout: until then, the scroll range may belong to the old size.
        self.call_after_refresh(self._stay_at_end)

    def _stay_at_end(self) -> None:
        if self._follows and self._is_at_end:
            self.jump(self.max_scroll_y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._is_at_end = new_value >= self.max_scroll_y

    def _remake(self) -> None:
        self._made_for = self.scrollable_content_region.width
        lines = self._make(max(self._made_for, 1))
        before, self._lines = self._lines, lines
        if len(before) != len(lines):
            self.virtual_size = Size(self._made_for, len(lines))
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before, lines, strict=True)):
            if old != new:
                self.refresh_line(y)

    def refresh_line(self, y: int) -> None:
        top = y - self.scroll_offset.y
        if 0 <= top < self.size.height:
            self.refresh(Region(0, top, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.size.width
        if at >= len(self._lines):
            return Strip.blank(width)
        strip = strip_of(self._lines[at], width)
        if (selection := self.text_selection) and (span := selection.get_span(at)):
            strip = self._selected(strip, *span)
        return strip.apply_offsets(self.scroll_offset.x, at)

    def _selected(self, strip: Strip, start: int, end: int) -> Strip:
        end = strip.cell_length if end < 0 else end
        before, inside, after = strip.divide([start, end, strip.cell_length])
        return Strip.join([before, inside.apply_style(CURSOR), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text), "\n"


def _no_lines(width: int) -> Sequence[StyledLine]:
    return ()
