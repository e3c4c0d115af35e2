"""The main screen: the list of sessions beside or above the preview of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import Input

from rookery.client.sessions import ListedSession
from rookery.model.errors import RookeryError
from rookery.tui import command_lines
from rookery.tui.answer_actions import AnswerActions
from rookery.tui.board import BoardView
from rookery.tui.board_screen import TuiSetup
from rookery.tui.feed import DaemonDown, FeedNews
from rookery.tui.header_text import empty_hints, first_keys, header, key_hints
from rookery.tui.keys import KEYS
from rookery.tui.list_actions import ListActions
from rookery.tui.painting import LineBar
from rookery.tui.preview import Preview, ShownRequest
from rookery.tui.preview_feed import PreviewKind, PreviewNews, PreviewTarget
from rookery.tui.search_actions import SearchActions
from rookery.tui.session_actions import SessionActions
from rookery.tui.session_pane import SessionPane
from rookery.tui.session_view import unread_since
from rookery.tui.threads import LiveNews

#: Minimum columns for a preview beside the list; minimum columns and lines for one below it.
MIN_BESIDE_COLUMNS, MIN_BELOW_COLUMNS, MIN_BELOW_LINES = 110, 60, 16

#: Minimum lines of the list above its preview, even with few sessions.
MIN_LIST_LINES = 6

#: Seconds for which a selection must stay before its preview is fetched.
PREVIEW_DELAY_S = 0.08

#: Seconds for which an answer must be visible to count as read, and seconds after the last key
#: during which the user counts as present.
READ_DELAY_S, PRESENCE_S = 1.0, 60.0


class MainScreen(AnswerActions, SessionActions, ListActions, SearchActions):
    """Shows what the feeds report, and carries out the keys."""

    # With priority, a key is carried out before the next one is read. Otherwise text that is
    # typed right after the key of the search would be taken for keys of the list.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(each.key, each.action, each.purpose, show=False, priority=True)
        for each in KEYS
        if each.action
    ]

    def __init__(self, setup: TuiSetup) -> None:
        super().__init__(setup)
        self._down = ""  #: why the daemon does not answer
        self._is_leaving = False
        self._is_loaded = False
        self._preview_timer: Timer | None = None
        self._read_timer: Timer | None = None
        self._present_at = monotonic()  #: when the user last did something

    def compose(self) -> ComposeResult:
        yield LineBar(id="header")
        with Container(id="body", classes="-below"):
            yield SessionPane()
            yield Preview()
        yield Input(id="search", placeholder="search names, folders, prompts, answers")
        yield LineBar(id="status")
        yield LineBar(id="hints")

    def on_mount(self) -> None:
        self.table.focus()
        self.live.start()
        self.set_interval(1.0, self._tick)
        self.show_board()

    def on_unmount(self) -> None:
        self.live.close()

    def on_resize(self, event: events.Resize) -> None:
        width, height = event.size
        is_beside = width >= MIN_BESIDE_COLUMNS
        is_below = not is_beside and width >= MIN_BELOW_COLUMNS and height >= MIN_BELOW_LINES
        body = self.query_one("#body")
        body.set_class(is_beside, "-beside")
        body.set_class(is_below, "-below")
        body.set_class(not (is_beside or is_below), "-single")
        self.call_after_refresh(self.show_board)

    @property
    def _is_single(self) -> bool:
        return self.query_one("#body").has_class("-single")

    @property
    def _is_detail(self) -> bool:
        return self.query_one("#body").has_class("-detail")

    # What the threads report.

    def on_live_news(self, message: LiveNews) -> None:
        if not isinstance(message.news, PreviewNews):
            self._take_news(message.news)
        elif message.news.target == self._target:
            was_shown = self.preview.shows_answers_of(message.news.target.session)
            self.preview.show_news(message.news)
            if not was_shown:
                self._read_soon()

    def _take_news(self, news: FeedNews) -> None:
        if isinstance(news, DaemonDown):
            self._down = news.reason
            self.show_board()
            return
        self._down, self._is_loaded = "", True
        self.board.selected = self.table.selected
        self.board.take(news)
        self.show_board()
        self.tell_trouble()
        if news.ids is None or self.table.selected in news.ids:
            self.live.preview.refresh()

    @property
    def _target(self) -> PreviewTarget:
        is_visible = not self._is_single or self._is_detail
        return PreviewTarget(self.table.selected if is_visible else "", self.preview.kind)

    # What is drawn.

    def show_board(self) -> None:
        hints = empty_hints(self.board, down=self._down, is_loaded=self._is_loaded)
        rows = [] if self._down and not self.board.sessions else self.board.rows()
        self._fit_list(len(rows))
        before, selected = self.table.order, self.table.selected
        self.table.show(rows, self.board.extras, hints)
        self.note_rows(before=before, selected=selected)
        self._show_preview()
        self._show_bars()

    def _fit_list(self, rows: int) -> None:
        """Set the list's height: a preview below it gets the lines that the list spares."""
        body = self.query_one("#body")
        if body.has_class("-below"):
            share = body.size.height * 2 // 5
            self.table.styles.height = min(max(rows + 1, MIN_LIST_LINES), max(share, 1))
        else:
            self.table.styles.height = "1fr"

    def _show_preview(self) -> None:
        session, card = self.session, self.preview.card
        request = self.board.request_of(session.id) if session else None
        shown = None
        if session and request:
            count = len(self.board.requests[session.id])
            shown = ShownRequest(request, session, count, self.board.on_timeout)
        self.note_request(before=card.shown.request if card.shown else None, now=request)
        overlap = self.board.extras.overlaps.get(session.id, "") if session else ""
        self.preview.show_session(session, shown, overlap)
        self._read_soon()

    def _show_bars(self) -> None:
        width = self.size.width
        self.query_one("#header", LineBar).show(header(self.board, width, down=self._down))
        is_detail = self._is_single and self._is_detail
        is_list = self._is_single and not is_detail
        # Where the preview is visible, its card shows the keys of the request.
        request = self.board.request_of(self.table.selected) if is_list else None
        first = first_keys(self.session, is_list=is_list, is_detail=is_detail)
        is_down = bool(self._down)
        pairs = key_hints(request, self.board, is_down=is_down, width=width, first=first)
        self.query_one("#hints", LineBar).show(pairs)

    def _tick(self) -> None:
        """Redraw ages and deadlines; nothing is fetched."""
        self.table.redraw()
        self.preview.card.tick()

    # Selection and preview.

    def on_session_pane_selected(self, message: SessionPane.Selected) -> None:
        self._note_presence()
        self.note_selection()
        # The row that was selected before may move to its place in the order now.
        self.board.selected = message.session
        self.show_board()
        self.preview.clear()
        self._fetch_preview()

    def on_session_pane_opened(self) -> None:
        self.action_open()

    def _fetch_preview(self) -> None:
        if self._preview_timer:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(PREVIEW_DELAY_S, self._fetch_now)

    def _fetch_now(self) -> None:
        self.live.preview.show(self._target)

    def _read_soon(self) -> None:
        """Count an unread answer as read if it stays visible for a moment."""
        if self.session is None or not self._is_news(self.session):
            return
        if self._read_timer:
            self._read_timer.stop()
        self._read_timer = self.set_timer(READ_DELAY_S, self._mark_read)

    def _is_news(self, session: ListedSession) -> bool:
        """Return whether the user has not yet seen an answer, or a request that has expired."""
        pending = self.board.extras.pending.get(session.id)
        return bool(unread_since(session) or (pending and pending.missed))

    def _mark_read(self) -> None:
        session = self.session
        is_visible = self.preview.shows_answers_of(self._target.session)
        is_present = monotonic() - self._present_at <= PRESENCE_S
        if session and is_visible and is_present and self.app.screen is self:
            self.live.mark_read(session.id, unread_since(session))
            if (pending := self.board.extras.pending.get(session.id)) and pending.missed:
                self.live.mark_missed(session.id)

    def _note_presence(self) -> None:
        """Note that the user is present; what came while they were away may now become read."""
        was_away = monotonic() - self._present_at > PRESENCE_S
        self._present_at = monotonic()
        if was_away:
            self._read_soon()

    def action_next_preview(self) -> None:
        kinds = [*PreviewKind]
        self.preview.kind = kinds[(kinds.index(self.preview.kind) + 1) % len(kinds)]
        self.preview.clear()
        self._show_preview()
        self._fetch_now()

    def action_scroll_preview(self, pages: int) -> None:
        pane = self.preview.content
        step = max(pane.size.height - 2, 1) * pages
        pane.jump(pane.scroll_offset.y + step)

    # Enter, escape, search and leaving.

    def action_open(self) -> None:
        if self._down:
            self._start_daemon()
        elif self._is_single and not self._is_detail and self.session:
            self._show_detail(is_open=True)
        else:
            self.attach()

    def action_next_unread(self) -> None:
        if self._down:
            self._start_daemon()
        else:
            super().action_next_unread()

    def _show_detail(self, *, is_open: bool) -> None:
        self.query_one("#body").set_class(is_open, "-detail")
        self._fetch_now()
        self.call_after_refresh(self.show_board)

    def _start_daemon(self) -> None:
        self.perform(command_lines.UP, self.live.start_daemon(self.setup.program), str)

    def run_here(self, words: Sequence[str]) -> int | None:
        self.live.pause()
        try:
            return self.live.run_program(self.app, [*self.setup.program, *words])
        except (SuspendNotSupported, RookeryError):
            return None
        finally:
            self.live.resume()
            self._fetch_now()

    def action_back(self) -> None:
        """Close the details, or else the search; else remove the marks, or reset the view."""
        if self._is_single and self._is_detail:
            self._show_detail(is_open=False)
        elif self.board.query:
            self.clear_search()
        elif self.board.marked:
            self.board.marked.clear()
        else:
            self.board.view = BoardView.LIVE
        self.show_board()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of the list while the search line has the focus, and on leaving."""
        self._note_presence()
        return not (self._is_leaving or self.search_line.has_focus)

    def action_quit(self) -> None:
        self._is_leaving = True  # a dialog that is opened now could not be shown any more
        self.app.exit()
