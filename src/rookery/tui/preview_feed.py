"""Fetch what the preview shows, in threads; only the visible preview has a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from threading import Condition, Thread
from typing import TypeAlias

from rookery.client import Client
from rookery.client.live_views import ConversationInfo, show_session_data
from rookery.client.sessions import show_screen
from rookery.client.streams import read_screens
from rookery.client.transport import OpenStream
from rookery.client.workspaces import show_diff, show_workspace
from rookery.model.errors import Answered, NotRunning, RookeryError
from rookery.presentation.worktrees import compared_with_base

#: Characters of a conversation that are fetched for the preview.
MAX_CHARACTERS = 30_000

#: Seconds between two fetches of the same preview while its session works.
FETCH_INTERVAL_S = 0.4

#: Shown if the daemon does not know the request for a diff.
OLDER_DAEMON = (
    "The running daemon is older and cannot show a diff."
    " Restart it:  rookery down  and  rookery up"
)


class PreviewKind(StrEnum):
    CONVERSATION = "conversation"
    SCREEN = "screen"
    DIFF = "diff"


@dataclass(frozen=True, slots=True)
class PreviewTarget:
    session: str  #: its id; empty for none
    kind: PreviewKind


#: A conversation, the lines of a screen, or the text of a diff.
PreviewContent: TypeAlias = ConversationInfo | tuple[str, ...] | str


@dataclass(frozen=True, slots=True)
class PreviewNews:
    target: PreviewTarget
    content: PreviewContent | None
    problem: str = ""  #: why there is no content


class PreviewFeed:
    """Delivers the content of one preview at a time, from its threads."""

    def __init__(self, daemon: Client, deliver: Callable[[PreviewNews], None]) -> None:
        self._daemon, self._deliver = daemon, deliver
        self._target = PreviewTarget("", PreviewKind.CONVERSATION)
        self._awake = Condition()
        self._is_due, self._is_closed = False, False
        self._stream: OpenStream | None = None

    def start(self) -> None:
        Thread(target=self._fetch, daemon=True, name="preview").start()

    def show(self, target: PreviewTarget) -> None:
        """Fetch another preview, and close the stream of the previous one."""
        self._close_stream()
        with self._awake:
            self._target = target
            self._is_due = bool(target.session)
            self._awake.notify_all()

    def refresh(self) -> None:
        """Fetch the content again, because its session has changed."""
        with self._awake:
            if self._target.session and self._stream is None:
                self._is_due = True
                self._awake.notify_all()

    def close(self) -> None:
        with self._awake:
            self._is_closed = True
            self._awake.notify_all()
        self._close_stream()

    def _close_stream(self) -> None:
        if self._stream:
            self._stream.close()
            self._stream = None

    def _fetch(self) -> None:
        while True:
            with self._awake:
                self._awake.wait_for(lambda: self._is_due or self._is_closed)
                if self._is_closed:
                    return
                self._is_due, target = False, self._target
            if target.kind is PreviewKind.SCREEN:
                Thread(target=self._follow, args=(target,), daemon=True).start()
            else:
                self._deliver(self._news(target))
            with self._awake:
                # Woken early only if another preview is wanted.
                self._awake.wait_for(partial(self._is_other, target), FETCH_INTERVAL_S)

    def _is_other(self, target: PreviewTarget) -> bool:
        return self._is_closed or self._target != target

    def _news(self, target: PreviewTarget) -> PreviewNews:
        try:
            if target.kind is PreviewKind.DIFF:
                return PreviewNews(target, self._diff(target.session))
            content = show_session_data(self._daemon, target.session, characters=MAX_CHARACTERS)
        except RookeryError as error:
            return PreviewNews(target, None, str(error))
        return PreviewNews(target, content)

    def _diff(self, session: str) -> str:
        try:
            diff = show_diff(self._daemon, session, stat=False)
            head = self._changes(session) if diff.is_worktree else ""
            return head + (diff.text or "No changes.")
        except Answered as refusal:
            if refusal.code == "not-found":
                return OLDER_DAEMON
            raise

    def _changes(self, session: str) -> str:
        """Return a line about the worktree of a session."""
        worktree = show_workspace(self._daemon, session, timeout=0)
        return f"{worktree.branch}: {compared_with_base(worktree)}\n"

    def _follow(self, target: PreviewTarget) -> None:
        """Deliver the screens of a session while its preview is visible."""
        try:
            with self._daemon.opened("sessions", target.session, "frames") as stream:
                with self._awake:
                    if self._is_other(target) or self._stream:
                        return
                    self._stream = stream
                for lines in read_screens(stream):
                    if self._is_other(target):
                        return
                    self._deliver(PreviewNews(target, lines))
        except NotRunning:
            pass  # the stream was closed, or the daemon stops
        except RookeryError:
            self._deliver(self._last_screen(target))
        finally:
            with self._awake:
                self._stream = None if self._target == target else self._stream

    def _last_screen(self, target: PreviewTarget) -> PreviewNews:
        """Return the screen that was stored when a session ended."""
        try:
            return PreviewNews(target, show_screen(self._daemon, target.session).lines)
        except RookeryError as error:
            return PreviewNews(target, None, str(error))
