"""The search line: its words filter the list while they are typed."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from rookery.tui.board_screen import BoardScreen


class SearchActions(BoardScreen):
    """Opens and closes the search line, and filters the list by its text."""

    @property
    def search_line(self) -> Input:
        return self.query_one("#search", Input)

    def action_search(self) -> None:
        self.search_line.add_class("-open")
        # At once: the next key may be typed already, and belongs to the search.
        self.set_focus(self.search_line)

    def on_input_changed(self) -> None:
        # The text of now: the search may have been cleared since this change was reported.
        if self.search_line.value == self.board.query:
            return
        self.board.query = self.search_line.value
        self.show_board()
        if self.board.query:
            self.table.move(-len(self.board.sessions))  # the best match comes first

    def on_input_submitted(self) -> None:
        self._leave_search()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.search_line.has_focus:
            event.stop()
            self.clear_search()

    def clear_search(self) -> None:
        """List all sessions again; the one that was found stays selected."""
        self.search_line.value = self.board.query = ""
        self._leave_search()
        self.show_board()

    def _leave_search(self) -> None:
        self.search_line.set_class(bool(self.board.query), "-open")
        self.set_focus(self.table)
