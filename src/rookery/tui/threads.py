"""The threads behind the main screen, and programs that get its terminal for a while."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

from textual.app import App
from textual.message import Message

from rookery.client import Client
from rookery.client.permissions import list_requests, mark_seen
from rookery.client.session_details import mark_answers_seen
from rookery.model.errors import RookeryError, RuntimeFailed
from rookery.tui.feed import Feed, FeedNews
from rookery.tui.preview_feed import PreviewFeed, PreviewKind, PreviewNews, PreviewTarget

#: Seconds for a starting daemon to answer.
UP_TIMEOUT_S = 60.0

NOT_STARTED = f"the daemon did not start within {UP_TIMEOUT_S:.0f} s. See:  rookery daemon logs"


class LiveNews(Message):
    """Something that a thread has learned from the daemon."""

    def __init__(self, news: FeedNews | PreviewNews) -> None:
        super().__init__()
        self.news = news


class LiveThreads:
    """Runs the feeds of the list and of the preview."""

    def __init__(self, daemon: Client, post: Callable[[Message], bool]) -> None:
        self._daemon = daemon
        self.feed = Feed(daemon, lambda news: _post(post, news))
        self.preview = PreviewFeed(daemon, lambda news: _post(post, news))
        self._read: set[tuple[str, str]] = set()

    def start(self) -> None:
        self.feed.start()
        self.preview.start()

    def close(self) -> None:
        self.feed.close()
        self.preview.close()

    def pause(self) -> None:
        """Fetch nothing while another program has the terminal."""
        self.feed.pause()
        self.preview.show(PreviewTarget("", PreviewKind.CONVERSATION))

    def resume(self) -> None:
        self.feed.resume()

    def mark_read(self, session: str, until: str) -> None:
        """Tell the daemon once that the answers of a session until a time were seen."""
        if not until or (session, until) in self._read:
            return
        self._read.add((session, until))
        Thread(target=self._tell_read, args=(session, until), daemon=True).start()

    def _tell_read(self, session: str, until: str) -> None:
        with suppress(RookeryError):  # it stays unread, which does no harm
            mark_answers_seen(self._daemon, session, until=until)
            self.feed.reload()

    def mark_missed(self, session: str) -> None:
        """Tell the daemon that the user knows which requests of a session have expired."""
        Thread(target=self._tell_missed, args=(session,), daemon=True).start()

    def _tell_missed(self, session: str) -> None:
        with suppress(RookeryError):  # they stay marked, which does no harm
            requests = list_requests(self._daemon, all=True).requests
            if missed := [
                each.id for each in requests if each.missed and each.session == session
            ]:
                mark_seen(self._daemon, missed)
                self.feed.reload()

    def start_daemon(self, program: Sequence[str]) -> Callable[[], str]:
        """Return the call that starts a daemon in the background."""
        words = [*program, "up", "--detach"]

        def start() -> str:
            try:
                done = subprocess.run(
                    words,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=UP_TIMEOUT_S,
                    check=False,
                )
            except (subprocess.TimeoutExpired, OSError) as error:
                raise RuntimeFailed(NOT_STARTED) from error
            said = (done.stderr if done.returncode else done.stdout).strip()
            return said.splitlines()[0] if said else "The daemon is up."

        return start

    @staticmethod
    def run_program(app: App[object], words: Sequence[str]) -> int:
        """Run a program in the app's terminal, and wait until it ends."""
        # Textual takes NO_COLOR out of the environment.
        more = {"NO_COLOR": "1"} if app.no_color else {}
        with app.suspend():
            return subprocess.run(words, env={**os.environ, **more}, check=False).returncode


def _post(post: Callable[[Message], bool], news: FeedNews | PreviewNews) -> None:
    with suppress(RuntimeError):  # the interface has just closed
        post(LiveNews(news))
