"""The preview of the selected session: its request, and its conversation, screen or diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size

from rookery.client.live_views import ConversationInfo
from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession, SessionInfo
from rookery.presentation.cells import TAB_CELLS, cells
from rookery.presentation.deadlines import at_deadline
from rookery.presentation.diffs import DiffLineKind, kind_of_line
from rookery.presentation.fallbacks import fallback_of
from rookery.presentation.texts import as_sentence, one_line, plain
from rookery.tui.conversation_text import conversation_lines
from rookery.tui.painting import LineBar, TextPane
from rookery.tui.preview_feed import PreviewContent, PreviewKind, PreviewNews, PreviewTarget
from rookery.tui.request_text import keys_line, request_lines, title_of
from rookery.tui.session_view import details
from rookery.tui.styled import Span, StyledLine, line, paragraph

#: Cells of the card's border and the space after it.
_FRAME_CELLS = 2

#: Minimum lines of the preview that the request leaves to the content below it.
MIN_CONTENT_LINES = 1

_DIFF_STYLES = {
    DiffLineKind.HEADER: "strong",
    DiffLineKind.HUNK: "heading",
    DiffLineKind.ADDED: "added",
    DiffLineKind.REMOVED: "removed",
    DiffLineKind.UNCHANGED: "",
}


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """The request that the card shows, with its session."""

    request: RequestInfo
    session: ListedSession
    count: int  #: open requests of the session
    on_timeout: str


def deadline_text(shown: ShownRequest, now: datetime) -> str:
    """Return what happens to the request, and when; empty without a deadline."""
    if not (moment := shown.request.deadline):
        return ""
    return at_deadline(moment, shown.on_timeout, fallback_of(shown.request, shown.session), now)


class RequestCard(Vertical):
    """A request in full, and the keys that answer it."""

    def __init__(self) -> None:
        super().__init__(id="card")
        self.shown: ShownRequest | None = None
        self._width = 1

    def compose(self) -> ComposeResult:
        yield LineBar(id="card-title")
        yield TextPane(id="card-text", follows=False)
        yield LineBar(id="card-keys")

    def show(self, shown: ShownRequest | None, room: Size) -> None:
        """Show a request in at most ``room`` cells; without one, hide the card."""
        self._width = room.width - _FRAME_CELLS
        is_new = shown is None or self.shown is None or shown.request != self.shown.request
        self.shown = shown
        self.display = shown is not None
        if shown is None:
            return
        self.tick()
        pane = self.query_one("#card-text", TextPane)
        lines = request_lines(shown.request, max(self._width, 1))
        height = min(len(lines), max(room.height - 2, 1))
        pane.styles.height = height
        if is_new:
            pane.show(partial(request_lines, shown.request), from_start=True)
        keys = keys_line(shown.request, hidden_lines=len(lines) - height)
        self.query_one("#card-keys", LineBar).show(keys)

    def tick(self) -> None:
        """Renew the title with the time that is left until the deadline."""
        if (shown := self.shown) is None:
            return
        title = f"{one_line(shown.session.name)} {title_of(shown.request, shown.count)}"
        deadline = deadline_text(shown, datetime.now(UTC))
        gap = " " * max(self._width - cells(title) - cells(deadline), 2)
        spans = (Span(title, "needs-you"), Span(f"{gap}{deadline}", "faint"))
        self.query_one("#card-title", LineBar).show(spans)

    @property
    def shows_all(self) -> bool:
        """Return whether the whole request is visible, so that an answer is informed."""
        pane = self.query_one("#card-text", TextPane)
        return bool(self.display) and pane.line_count <= pane.size.height


class Preview(Vertical):
    """Title, request and content of the selected session."""

    def __init__(self) -> None:
        super().__init__(id="preview")
        self.kind = PreviewKind.CONVERSATION
        self.conversation: ConversationInfo | None = None
        self._shown_target = ""  #: the session and kind of the content that is shown
        self._delivered: PreviewTarget | None = None  #: None while it has no content

    def compose(self) -> ComposeResult:
        yield LineBar(id="preview-title")
        yield LineBar(id="preview-details")
        yield RequestCard()
        yield TextPane(id="content")

    @property
    def card(self) -> RequestCard:
        return self.query_one(RequestCard)

    @property
    def content(self) -> TextPane:
        return self.query_one("#content", TextPane)

    def shows_answers_of(self, session: str) -> bool:
        """Return whether the conversation or screen of a session is visible."""
        if (shown := self._delivered) is None:
            return False
        return shown.session == session and shown.kind is not PreviewKind.DIFF

    def show_session(
        self, session: ListedSession | None, shown: ShownRequest | None, overlap: str = ""
    ) -> None:
        """Show the title and details of a session, its request, and its overlap."""
        name = one_line(session.name) if session else ""
        self.query_one("#preview-title", LineBar).show(self._title(name))
        about = details(session, overlap) if session else ""
        self.query_one("#preview-details", LineBar).show(line(f" {about}", "faint"))
        lines = self.size.height - 2 - MIN_CONTENT_LINES
        self.card.show(shown, Size(self.content_size.width, lines))

    def _title(self, name: str) -> StyledLine:
        tabs = [
            Span(f" {each} ", "tab" if each is self.kind else "faint") for each in PreviewKind
        ]
        width = sum(cells(each.text) for each in tabs)
        gap = " " * max(self.content_size.width - width - cells(name) - 2, 1)
        return (Span(f" {name}", "strong"), Span(gap), *tabs) if name else line("")

    def clear(self, note: str = "") -> None:
        """Replace the content with ``note`` while other content is fetched."""
        self.conversation = self._delivered = None
        self.content.show(partial(_note_lines, note), from_start=True)

    def show_news(self, news: PreviewNews) -> None:
        """Show content that was fetched."""
        is_other = self._shown_target != f"{news.target.session} {news.target.kind}"
        self._shown_target = f"{news.target.session} {news.target.kind}"
        self._delivered = None if news.content is None else news.target
        if isinstance(news.content, ConversationInfo):
            self.conversation = news.content
        make = (
            partial(_note_lines, news.problem)
            if news.content is None
            else partial(_content_lines, news.content)
        )
        self.content.show(make, from_start=is_other)


def _content_lines(content: PreviewContent, width: int) -> Sequence[StyledLine]:
    if isinstance(content, ConversationInfo):
        lines = conversation_lines(content, width - 1)
        return lines or _note_lines(_nothing_said(content.session), width)
    if isinstance(content, str):
        return [_diff_line(each) for each in plain(content).splitlines()]
    lines = [line(plain(each).rstrip()) for each in content]
    while lines and not lines[-1][0].text:
        lines.pop()
    return lines


def _nothing_said(session: SessionInfo) -> str:
    """Return the text of an empty conversation, with why its session has to wait."""
    reason = session.reason if session.status == "starting" else ""
    why = f" {as_sentence(reason[:1].upper() + reason[1:])}" if reason else ""
    return f"Nothing was said yet.{why}"


def _diff_line(text: str) -> StyledLine:
    return line(text.expandtabs(TAB_CELLS), _DIFF_STYLES[kind_of_line(text)])


def _note_lines(note: str, width: int) -> list[StyledLine]:
    return [*paragraph(note, width, "faint", first=" ", rest=" ")]
