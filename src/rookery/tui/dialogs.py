"""Dialogs: write a text, confirm, choose one of several, and read a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import TextArea

from rookery.presentation.texts import one_line
from rookery.tui.keys import hints
from rookery.tui.leavable_screen import LeavableScreen
from rookery.tui.painting import LineBar, LineMaker, TextPane
from rookery.tui.styled import StyledLine, line, paragraph

#: Keys that begin a new line in a text; enter sends it.
NEW_LINE_KEYS = ("ctrl+j", "shift+enter", "alt+enter")

#: Seconds during which a request that has just appeared ignores keys: the user meant them for
#: what was shown before.
ARMING_DELAY_S = 0.6

#: Cells of a dialog beside its text: border and padding.
_FRAME_CELLS = 4

#: Columns below which a dialog has the whole width; it has 80 % of more, up to a maximum.
_NARROW_COLUMNS, _MAX_DIALOG_COLUMNS = 60, 90


def text_cells(columns: int) -> int:
    """Return the width of the text of a dialog in a terminal with these columns."""
    share = columns if columns < _NARROW_COLUMNS else columns * 8 // 10
    return min(share, _MAX_DIALOG_COLUMNS) - _FRAME_CELLS


class Composer(TextArea):
    """A field for a text of several lines; enter submits it."""

    class TextWritten(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.post_message(self.TextWritten(self.text))
        elif event.key in NEW_LINE_KEYS:
            event.prevent_default()
            event.stop()
            self.insert("\n")
        else:
            await super()._on_key(event)


def composer(text: str = "", *, id: str | None = None) -> Composer:  # noqa: A002 - as in Textual
    field = Composer(text, id=id, tab_behavior="focus", show_line_numbers=False, compact=True)
    field.move_cursor(field.document.end)
    return field


class TextDialog(LeavableScreen[str | None]):
    """Asks for a text; gives None if the user cancels.

    With a ``problem`` it asks again for a ``text`` that could not be sent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(
        self,
        title: str,
        *,
        about: Sequence[StyledLine] = (),
        text: str = "",
        problem: str = "",
    ) -> None:
        super().__init__()
        self._heading, self._about, self._text = title, about, text
        self._problem, self._opened_at = problem, monotonic()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield LineBar(id="dialog-title")
            yield TextPane(id="dialog-about", follows=False)
            yield composer(self._text)
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        self.query_one("#dialog-title", LineBar).show(line(one_line(self._heading), "strong"))
        keys = hints(("enter", "send"), ("^j", "new line"), ("esc", "cancel"))
        self.query_one("#dialog-keys", LineBar).show(keys)
        about = self.query_one("#dialog-about", TextPane)
        lines = [*self._about, *self._problem_lines()]
        about.display = bool(lines)
        about.styles.height = len(lines)
        about.show(lambda width: lines, from_start=True)
        self.query_one(Composer).focus()

    def _problem_lines(self) -> list[StyledLine]:
        if not self._problem:
            return []
        width = text_cells(self.app.size.width)
        return [*paragraph(self._problem, width, "failed"), line("")]

    def on_key(self, event: events.Key) -> None:
        """Insert what was typed before the text field had the focus."""
        if event.is_printable and event.character:
            self.query_one(Composer).insert(event.character)

    def on_composer_text_written(self, message: Composer.TextWritten) -> None:
        # A dialog that comes back by itself must not send again with an enter for the list.
        if not self._problem or monotonic() - self._opened_at >= ARMING_DELAY_S:
            self.leave(message.text)

    def action_cancel(self) -> None:
        self.leave(None)


class ConfirmDialog(LeavableScreen[bool]):
    """Asks whether to go on; only y means yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape,q", "answer(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield TextPane(id="dialog-about", follows=False)
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        about = self.query_one("#dialog-about", TextPane)
        width = text_cells(self.app.size.width)
        lines = [*paragraph(self._question, width, "strong"), line("")]
        about.styles.height = len(lines)
        about.show(lambda room: lines, from_start=True)
        self.query_one("#dialog-keys", LineBar).show(hints(("y", "yes"), ("n", "no")))

    def action_answer(self, answer: bool) -> None:
        self.leave(answer)


class PickDialog(LeavableScreen[int | None]):
    """Asks the user to choose among a few texts; gives the index of one, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"choose({number})", "choose") for number in range(1, 10)),
        Binding("enter", "choose(1)", "the first"),
        Binding("escape,q", "cancel", "cancel"),
    ]

    def __init__(self, title: str, choices: Sequence[str]) -> None:
        super().__init__()
        self._heading, self._choices = title, choices[:9]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield LineBar(id="dialog-title")
            yield TextPane(id="dialog-about", follows=False)
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        self.query_one("#dialog-title", LineBar).show(line(self._heading, "strong"))
        about = self.query_one("#dialog-about", TextPane)
        about.styles.height = len(self._choices) + 1
        about.show(self._lines, from_start=True)
        last = len(self._choices)
        keys = hints((f"1-{last}", "choose"), ("enter", "the first"), ("esc", "cancel"))
        self.query_one("#dialog-keys", LineBar).show(keys)

    def _lines(self, width: int) -> list[StyledLine]:
        numbered = enumerate(self._choices, 1)
        return [line(f" {number}. {one_line(each)}") for number, each in numbered]

    def action_choose(self, number: int) -> None:
        if number <= len(self._choices):
            self.leave(number - 1)

    def action_cancel(self) -> None:
        self.leave(None)


class PageScreen(LeavableScreen[str | None]):
    """Shows a page of text, such as the help; gives the pressed key of ``answers``, or None.

    The keys of ``answers`` apply once the user has scrolled to the end of the text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,w,g,o,question_mark", "cancel", "close"),
        Binding("down,j", "scroll(1)", "down"),
        Binding("up,k", "scroll(-1)", "up"),
        Binding("pagedown,space", "scroll(10)", "page down"),
        Binding("pageup", "scroll(-10)", "page up"),
        Binding("home", "scroll(-100000)", "top"),
        Binding("end", "scroll(100000)", "end"),
    ]

    def __init__(
        self, title: str, make: LineMaker, *, answers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        self._heading, self._make, self._answers = title, make, answers
        self._opened_at, self._is_read = monotonic(), not answers

    @property
    def _pane(self) -> TextPane:
        return self.query_one("#page", TextPane)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog page"):
            yield LineBar(id="dialog-title")
            yield TextPane(id="page", follows=False)
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        self.query_one("#dialog-title", LineBar).show(line(one_line(self._heading), "heading"))
        self._pane.show(self._make, from_start=True)
        self.watch(self._pane, "scroll_y", self._note_read, init=False)
        self._show_keys()
        self.call_after_refresh(self._note_read)

    def on_resize(self) -> None:
        self.call_after_refresh(self._note_read)

    def _note_read(self) -> None:
        """Offer the answers once the last line was visible."""
        if self._pane.size.height and self._pane.shows_end:
            self._is_read = True
            self._show_keys()

    def _show_keys(self) -> None:
        scroll = ("j k", "scroll")
        keys = [*self._answers, scroll] if self._is_read else [("space", "more, then answer")]
        self.query_one("#dialog-keys", LineBar).show(hints(*keys, ("esc", "close")))

    def on_key(self, event: events.Key) -> None:
        if event.character in {key for key, _ in self._answers}:
            event.stop()
            if self._is_read and monotonic() - self._opened_at >= ARMING_DELAY_S:
                self.leave(event.character)

    def action_scroll(self, lines: int) -> None:
        self._pane.jump(self._pane.scroll_offset.y + lines)

    def action_cancel(self) -> None:
        self.leave(None)


def page(title: str, lines: Sequence[StyledLine]) -> PageScreen:
    """Return a page of lines that need no wrapping."""
    return PageScreen(title, partial(_same, lines))


def _same(lines: Sequence[StyledLine], width: int) -> Sequence[StyledLine]:
    return lines
