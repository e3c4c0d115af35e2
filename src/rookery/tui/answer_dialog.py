"""The dialog that collects the answers to questions, and sends them together."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from rookery.tui.answering import AnswerDraft, can_write
from rookery.tui.dialogs import TextDialog, text_cells
from rookery.tui.keys import hints
from rookery.tui.leavable_screen import LeavableScreen
from rookery.tui.painting import LineBar, TextPane
from rookery.tui.request_text import draft_lines
from rookery.tui.styled import StyledLine, line, paragraph


class AnswerDialog(LeavableScreen[AnswerDraft | None]):
    """Shows all questions of a request; gives the draft once every question is answered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"choose({number})", "choose") for number in range(1, 10)),
        Binding("down,right,j,tab", "move(1)", "next question"),
        Binding("up,left,k,shift+tab", "move(-1)", "previous question"),
        Binding("t", "write", "own words"),
        Binding("enter", "finish", "send"),
        Binding("escape,q", "cancel", "cancel"),
    ]

    def __init__(self, draft: AnswerDraft, *, name: str, problem: str = "") -> None:
        """``problem``: why the draft could not be sent before."""
        super().__init__()
        self._draft, self._asker, self._problem = draft, name, problem

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog page"):
            yield LineBar(id="dialog-title")
            yield TextPane(id="page", follows=False)
            yield LineBar(id="dialog-keys")

    def on_mount(self) -> None:
        self.query_one("#dialog-title", LineBar).show(line(f"Answer {self._asker}", "heading"))
        self._show()

    def _show(self) -> None:
        draft = self._draft
        self.query_one("#page", TextPane).show(self._lines)
        keys = [("1-9", "add or drop" if draft.question.takes_several else "choose")]
        keys += [("t", "own words")] if can_write(draft.request) else []
        keys += [("j k", "question")] if len(draft.request.questions) > 1 else []
        send = ("enter", "send" if draft.is_complete else "next")
        self.query_one("#dialog-keys", LineBar).show(hints(*keys, send, ("esc", "cancel")))

    def _lines(self, width: int) -> list[StyledLine]:
        problem = (
            [*paragraph(self._problem, width, "failed"), line("")] if self._problem else []
        )
        return [*problem, *draft_lines(self._draft, width)]

    def action_choose(self, number: int) -> None:
        draft = self._draft
        draft.choose(number)
        if draft.is_answered(draft.current) and not draft.question.takes_several:
            draft.move(1)
        self._show()

    def action_move(self, step: int) -> None:
        self._draft.move(step)
        self._show()

    def action_write(self) -> None:
        if not can_write(self._draft.request):
            return
        about = [*paragraph(self._draft.question.text, text_cells(self.app.size.width))]
        self.app.push_screen(TextDialog("Your answer", about=about), self._take)

    def _take(self, text: str | None) -> None:
        if text and text.strip():
            self._draft.write(text)
            self._draft.move(1)
            self._show()

    def action_finish(self) -> None:
        if self._draft.is_complete:
            self.leave(self._draft)
            return
        questions = range(len(self._draft.request.questions))
        missing = next(each for each in questions if not self._draft.is_answered(each))
        self._draft.current = missing
        self._show()

    def action_cancel(self) -> None:
        self.leave(None)
