"""The keys that change how sessions are listed or marked, and what is copied."""

from __future__ import annotations

from functools import partial

from rookery.client.labels import hide_session, unhide_session
from rookery.client.listeners import list_listeners
from rookery.client.live_views import ConversationInfo, show_session_data
from rookery.client.notifications import MutedInfo, mute_session, unmute_session
from rookery.client.relays import list_relays
from rookery.client.sessions import SessionInfo
from rookery.model.code_blocks import code_blocks
from rookery.presentation.texts import plain
from rookery.tui import command_lines
from rookery.tui.board import BoardView, Grouping
from rookery.tui.board_screen import BoardScreen
from rookery.tui.conversation_text import last_answer
from rookery.tui.dialogs import PageScreen, PickDialog, page
from rookery.tui.graph_text import graph_lines
from rookery.tui.keys import help_lines
from rookery.tui.preview_feed import MAX_CHARACTERS
from rookery.tui.styled import StyledLine


class ListActions(BoardScreen):
    """Changes views, marks and mutes; copies answers; shows the graph and the help."""

    def action_move(self, step: int) -> None:
        self.table.move(step)

    def action_next_unread(self) -> None:
        if session := self.board.next_unread(self.table.selected):
            self.table.select(session)
        else:
            self.say("No other session needs you or has an unread answer.")

    def action_mark(self) -> None:
        if session := self.session:
            self.board.marked ^= {session.id}
            self.show_board()
            self.table.move(1)

    def action_next_view(self) -> None:
        views = [*BoardView]
        self.board.view = views[(views.index(self.board.view) + 1) % len(views)]
        self.say(f"Showing {self.board.view} sessions.")
        self.show_board()

    def action_next_grouping(self) -> None:
        groupings = [*Grouping]
        at = (groupings.index(self.board.grouping) + 1) % len(groupings)
        self.board.grouping = groupings[at]
        by = self.board.grouping
        self.say("Not grouped." if by is Grouping.NONE else f"Grouped by {by}.")
        self.show_board()

    def action_tree(self) -> None:
        self.board.is_tree = not self.board.is_tree
        self.say("Families as a tree." if self.board.is_tree else "A flat list.")
        self.show_board()

    def action_show_hidden(self) -> None:
        self.board.shows_hidden = not self.board.shows_hidden
        shown = "also listed" if self.board.shows_hidden else "left out"
        self.say(f"Hidden sessions are {shown}.")
        self.live.feed.show_hidden(is_wanted=self.board.shows_hidden)
        self.show_board()

    def action_mute(self) -> None:
        if (session := self.session) is None:
            return
        is_muted = session.id in self.board.muted
        mute = partial(mute_session, self.daemon, session.id, seconds=None)
        work = partial(unmute_session, self.daemon, session.id) if is_muted else mute
        line = command_lines.mute(session.name, muted=not is_muted)
        self.perform(line, work, partial(self._muted, session))

    def _muted(self, session: SessionInfo, now: MutedInfo) -> str:
        change = self.board.muted.add if now.muted else self.board.muted.discard
        change(session.id)
        self.show_board()
        sends = "sends no notifications" if now.muted else "sends notifications again"
        return f"{session.name} {sends}."

    def action_hide(self) -> None:
        if session := self.session:
            hidden = not session.hidden
            work = partial(hide_session if hidden else unhide_session, self.daemon, session.id)
            text = f"{session.name} is {'hidden' if hidden else 'listed again'}."
            line = command_lines.hide(session.name, hidden=hidden)
            self.perform(line, work, lambda done: text)

    def action_graph(self) -> None:
        daemon, sessions = self.daemon, dict(self.board.sessions)

        def work() -> list[StyledLine]:
            return graph_lines(sessions, list_listeners(daemon), list_relays(daemon).relays)

        def show(lines: list[StyledLine]) -> str:
            self.open_found(page("Who waits for whom", lines))
            return "Waits and relays."

        self.perform(command_lines.GRAPH, work, show)

    def action_help(self) -> None:
        self.app.push_screen(PageScreen("Keys", help_lines))

    def action_copy(self) -> None:
        if session := self.session:
            work = partial(
                show_session_data, self.daemon, session.id, characters=MAX_CHARACTERS
            )
            self.perform(
                command_lines.copy(session.name), work, partial(self._choose_copy, session)
            )

    def _choose_copy(self, session: SessionInfo, conversation: ConversationInfo) -> str:
        answer = last_answer(conversation)
        if not answer:
            return f"{session.name} has not answered yet."
        blocks = code_blocks(answer)
        if not blocks:
            return self._copy("the last answer", answer)
        names = ["the last answer", *(f"code: {each.strip()[:60]}" for each in blocks)]
        dialog = PickDialog(f"Copy from {session.name}", names)
        self.open_found(dialog, partial(self._copy_one, [answer, *blocks]))
        return ""

    def _copy_one(self, texts: list[str], place: int | None) -> None:
        if place is not None:
            what = "a block of code" if place else "the last answer"
            self.say(self._copy(what, texts[place]))

    def _copy(self, what: str, text: str) -> str:
        text = plain(text)  # pasted into a terminal, control characters could run commands
        self.app.copy_to_clipboard(text)
        return f"Copied {what} ({len(text):,} characters)."
