from __future__ import annotations

from collections.abc import Iterator
from queue import Queue

import pytest

from rookery.model.errors import TimedOut
from rookery.tui import feed
from rookery.tui.feed import DaemonDown, Feed, FeedNews, SessionsNews
from tests.support.tui import SOON_S, FakeDaemon

pytestmark = pytest.mark.spec("I7", "I4")


class Followed:
    """A feed, and what it has delivered."""

    def __init__(self) -> None:
        self.daemon = FakeDaemon()
        self.news: Queue[FeedNews] = Queue()
        self.feed = Feed(self.daemon, self.news.put)

    def next(self) -> FeedNews:
        return self.news.get(timeout=SOON_S)

    def sessions(self) -> SessionsNews:
        """Return the next news about sessions."""
        while not isinstance(found := self.next(), SessionsNews):
            pass
        return found

    def started(self) -> None:
        self.feed.start()
        assert self.daemon.is_followed.wait(SOON_S)
        assert self.sessions().ids is None

    def fetches(self) -> list[object]:
        return [query for path, query in self.daemon.fetched if path == ("sessions",)]


@pytest.fixture
def followed() -> Iterator[Followed]:
    it = Followed()
    it.daemon.add("a")
    it.daemon.add("b")
    yield it
    it.feed.close()


def test_many_events_cost_one_request_for_the_changed_sessions(followed: Followed) -> None:
    followed.started()
    for number in range(50):
        followed.daemon.tell("tool-called", "a" if number % 2 else "b", seq=number + 1)

    news = followed.sessions()

    assert news.ids == frozenset("ab")
    assert news.listed is not None
    assert {each.id for each in news.listed.sessions} == {"a", "b"}
    assert news.requests is None  # a tool call changes no request
    assert len(followed.fetches()) == 2


def test_requests_are_fetched_when_they_may_have_changed(followed: Followed) -> None:
    followed.started()
    followed.daemon.ask("a", "r1")
    followed.daemon.tell("input-asked", "a")

    news = followed.sessions()

    assert news.requests is not None
    assert [each.id for each in news.requests] == ["r1"]


def test_a_session_that_is_gone_is_reported_as_changed(followed: Followed) -> None:
    followed.started()
    del followed.daemon.sessions["a"]
    followed.daemon.tell("session-ended", "a")

    news = followed.sessions()

    assert news.ids == frozenset("a")
    assert news.listed is not None
    assert news.listed.sessions == ()


def test_a_daemon_that_restarts_is_followed_from_where_the_last_one_ended(
    followed: Followed,
) -> None:
    followed.started()
    followed.daemon.tell("turn-started", "a", seq=41)
    followed.sessions()
    followed.daemon.is_down = True
    for _, stream in [*followed.daemon.streams]:
        stream.close()
    assert isinstance(followed.next(), DaemonDown)
    followed.daemon.is_followed.clear()
    followed.daemon.is_down = False

    assert followed.sessions().ids is None  # everything is read again
    assert followed.daemon.is_followed.wait(SOON_S)
    assert followed.daemon.opened_with[-1] == {"after": 41}


def test_without_a_daemon_it_says_so_and_tries_again(followed: Followed) -> None:
    followed.daemon.is_down = True
    followed.feed.start()
    assert isinstance(followed.next(), DaemonDown)
    followed.daemon.is_down = False

    assert followed.sessions().ids is None


def test_what_could_not_be_fetched_is_fetched_again(followed: Followed) -> None:
    followed.started()
    followed.daemon.answers["sessions",] = TimedOut("30 s.")
    followed.daemon.tell("turn-started", "a")
    assert isinstance(followed.next(), DaemonDown)
    del followed.daemon.answers["sessions",]

    assert followed.sessions().ids is None


def test_nothing_is_delivered_while_another_program_has_the_terminal(
    followed: Followed,
) -> None:
    followed.started()
    followed.feed.pause()
    for name in ("a", "b"):
        followed.daemon.tell("turn-started", name)
    followed.feed.resume()

    assert followed.sessions().ids == frozenset("ab")


def test_an_event_about_all_sessions_reads_all_of_them(followed: Followed) -> None:
    followed.started()
    followed.daemon.tell("deliveries-held", "")

    assert followed.sessions().ids is None


def test_more_changed_sessions_than_one_request_names_read_all_of_them(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MAX_IDS_PER_REQUEST", 2)
    followed.started()
    followed.feed.pause()
    for name in ("a", "b"):
        followed.daemon.tell("turn-started", name)
    followed.feed.resume()

    assert followed.sessions().ids is None


def test_a_session_that_is_resumed_is_read_again_with_the_one_that_continues_it(
    followed: Followed,
) -> None:
    followed.started()
    followed.daemon.change("a", is_resumed=True)
    followed.daemon.add("later", continues="a")
    followed.daemon.tell("session-requested", "later")

    news = followed.sessions()

    assert news.ids == frozenset({"a", "later"})
    assert news.listed is not None
    assert {each.id: each.is_resumed for each in news.listed.sessions}["a"]
