"""What all parts of the main screen share: its state, its status line, and calls in threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import TypeVar

from textual.message import Message
from textual.screen import ModalScreen, Screen, ScreenResultCallbackType, ScreenResultType

from rookery.client import Client
from rookery.client.sessions import ListedSession
from rookery.model.errors import Answered, RookeryError
from rookery.presentation.texts import one_line
from rookery.tui.board import Board
from rookery.tui.painting import LineBar
from rookery.tui.preview import Preview
from rookery.tui.session_pane import SessionPane
from rookery.tui.styled import Span
from rookery.tui.threads import LiveThreads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TuiSetup:
    """What the interface gets from the command that opens it."""

    daemon: Client
    agents: Mapping[str, Sequence[str]]  #: agents that can be started, with their runtimes
    program: Sequence[str]  #: the words that run Rookery's command line
    folder: str  #: where a new session works unless another folder is named
    environment: Mapping[str, str] = field(default_factory=dict)  #: for new sessions


class CallDone(Message):
    """A call in a thread has ended; ``then`` runs in the interface."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


def nothing(text: str) -> None:
    pass


class BoardScreen(Screen[None]):
    """The state of the main screen, and how its actions call the daemon."""

    def __init__(self, setup: TuiSetup) -> None:
        super().__init__()
        self.setup = setup
        self.board = Board()
        self._told_trouble = ""
        self.live = LiveThreads(setup.daemon, self.post_message)

    @property
    def daemon(self) -> Client:
        return self.setup.daemon

    @property
    def table(self) -> SessionPane:
        return self.query_one(SessionPane)

    @property
    def preview(self) -> Preview:
        return self.query_one(Preview)

    @property
    def session(self) -> ListedSession | None:
        """Return the selected session."""
        return self.board.sessions.get(self.table.selected)

    @abstractmethod
    def show_board(self) -> None:
        """Draw the list and the preview's title again."""

    @abstractmethod
    def run_here(self, words: Sequence[str]) -> int | None:
        """Give the terminal to a command of Rookery, and return its exit status.

        None means that this terminal cannot be given away.
        """

    def say(self, text: str, *, command_line: str = "", style: str = "") -> None:
        """Show what happened, and the command line that does the same."""
        # What happened comes first: a long command line is cut.
        spans = [Span(f"   $ {one_line(command_line)}", "faint")] if command_line else []
        self.query_one("#status", LineBar).show((Span(f" {one_line(text)}", style), *spans))

    def tell_trouble(self) -> None:
        """Show once why the list may be outdated, or rules, hooks or settings do not apply."""
        if self.board.trouble and self.board.trouble != self._told_trouble:
            self.say(self.board.trouble, style="failed")
        self._told_trouble = self.board.trouble

    def perform(
        self,
        command_line: str,
        work: Callable[[], T],
        done: Callable[[T], str],
        failed: Callable[[str], None] = nothing,
    ) -> None:
        """Call the daemon in a thread; then show the text that ``done`` makes of the answer.

        An error is shown and given to ``failed``.
        """
        self.say("…", command_line=command_line)

        def call() -> None:
            try:
                result = work()
            except RookeryError as error:
                text = explained(error)
                self.post_message(CallDone(lambda: self._fail(command_line, text, failed)))
                return
            self.post_message(CallDone(lambda: self._finish(command_line, done(result))))

        Thread(target=call, daemon=True, name="call").start()

    def _finish(self, command_line: str, text: str) -> None:
        if text:
            self.say(text, command_line=command_line)

    def _fail(self, command_line: str, text: str, failed: Callable[[str], None]) -> None:
        self.say(text, command_line=command_line, style="failed")
        failed(text)

    def open_found(
        self,
        dialog: ModalScreen[ScreenResultType],
        then: ScreenResultCallbackType[ScreenResultType] | None = None,
    ) -> None:
        """Open what a call has found, unless another dialog was opened meanwhile."""
        if self.app.screen is self:
            self.app.push_screen(dialog, then)

    def on_call_done(self, message: CallDone) -> None:
        message.then()


def explained(error: RookeryError) -> str:
    """Return what happened and what to do, in one line."""
    if isinstance(error, Answered) and error.code == "not-found":
        restart = "restart it with:  rookery down  and  rookery up"
        return f"The daemon that runs is of another version and cannot do this; {restart}"
    return str(error)
