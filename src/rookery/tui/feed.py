"""Follow the daemon in threads: which sessions change, and their current state.

One thread reads the event stream and collects the ids of changed sessions; the other fetches
these sessions together. So a burst of events costs one request, and the interface never waits
for the daemon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Event, Thread
from typing import TypeAlias

from rookery.client import Client, ConnectionLost
from rookery.client.live_views import MAX_IDS_PER_REQUEST, list_changed
from rookery.client.notifications import list_muted
from rookery.client.permissions import RequestInfo, list_requests
from rookery.client.sessions import SessionList, list_sessions
from rookery.client.streams import ShownEvent, read_events
from rookery.client.transport import OpenStream
from rookery.model.errors import Answered, NotRunning, RookeryError

#: Seconds in which changes are collected before they are fetched.
COLLECT_S = 0.15

#: Seconds between two attempts to reach a daemon that is down.
RETRY_INTERVAL_S = 0.5

#: Kinds of events after which the open requests may have changed.
_REQUEST_EVENTS = frozenset(
    {
        *("input-asked", "input-settled", "input-left", "call-decided", "keys-pressed"),
        *("keys-withheld", "answer-taken", "session-ended", "tool-used", "turn-ended"),
    }
)

#: Kinds of events that begin a session, which may continue the conversation of an ended one.
_BEGINNINGS = frozenset({"session-requested", "session-found", "session-started"})


@dataclass(frozen=True, slots=True)
class SessionsNews:
    """The current state of the sessions ``ids``; of all sessions if ``ids`` is None."""

    listed: SessionList | None  #: None if only requests changed
    ids: frozenset[str] | None
    requests: tuple[RequestInfo, ...] | None  #: None if they did not change
    muted: frozenset[str] | None = None  #: ids; None if they were not fetched


@dataclass(frozen=True, slots=True)
class DaemonDown:
    """No daemon answers; the feed tries to reach it again."""

    reason: str


FeedNews: TypeAlias = SessionsNews | DaemonDown


@dataclass(slots=True)
class _Changes:
    """The changes that the reading thread has seen, and the other has not fetched yet."""

    ids: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)  #: the ids of those that have just begun
    is_everything: bool = True
    has_requests: bool = True

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.is_everything or self.has_requests)

    def note(self, event: ShownEvent) -> None:
        if event.kind != "snapshot" and (session := event.session):
            self.ids.add(session)
        else:
            self.is_everything = True
        if event.kind in _BEGINNINGS:
            self.begun.add(event.session)
        if event.kind in _REQUEST_EVENTS:
            self.has_requests = True


class Feed:
    """Delivers news until it is closed. ``deliver`` is called from its threads."""

    def __init__(self, daemon: Client, deliver: Callable[[FeedNews], None]) -> None:
        self._daemon, self._deliver = daemon, deliver
        self._changes, self._awake = _Changes(), Condition()
        self._closed, self._paused = Event(), False
        self._stream: OpenStream | None = None
        self._seq: int | None = None
        self._with_hidden = False

    def start(self) -> None:
        for work in (self._read, self._fetch):
            Thread(target=work, daemon=True, name=f"feed-{work.__name__}").start()

    def close(self) -> None:
        self._closed.set()
        if self._stream:
            self._stream.close()
        with self._awake:
            self._awake.notify_all()

    def pause(self) -> None:
        """Fetch nothing until ``resume``, while another program has the terminal."""
        with self._awake:
            self._paused = True

    def resume(self) -> None:
        with self._awake:
            self._paused = False
            self._awake.notify_all()

    def reload(self) -> None:
        """Fetch everything again."""
        with self._awake:
            self._changes = _Changes()
            self._awake.notify_all()

    def show_hidden(self, *, is_wanted: bool) -> None:
        """Choose whether hidden sessions are fetched, too; then fetch everything again."""
        self._with_hidden = is_wanted
        self.reload()

    def _read(self) -> None:
        """Follow the event stream, and reconnect when a daemon runs again."""
        while not self._closed.is_set():
            query = {} if self._seq is None else {"after": self._seq}
            try:
                with self._daemon.opened("events", **query) as stream:
                    self._stream = stream
                    for event in read_events(stream.texts()):
                        self._note(event)
                    raise ConnectionLost  # a daemon ends its streams when it stops
            except RookeryError as error:
                self._lose(error)
            finally:
                self._stream = None

    def _note(self, event: ShownEvent) -> None:
        with self._awake:
            self._seq = event.seq
            self._changes.note(event)
            self._awake.notify_all()

    def _lose(self, error: RookeryError) -> None:
        if self._closed.is_set():
            return
        if isinstance(error, Answered):
            self._seq = None  # the daemon does not accept the number of the entry
        self._retry_later(error)

    def _retry_later(self, error: RookeryError) -> None:
        """Report an error, and have everything fetched again after a while."""
        self._deliver(DaemonDown(str(error)))
        self._closed.wait(RETRY_INTERVAL_S)
        self.reload()

    def _fetch(self) -> None:
        while not self._closed.is_set():
            with self._awake:
                self._awake.wait_for(self._is_due)
            if not self._changes.is_everything:
                self._closed.wait(COLLECT_S)
            with self._awake:
                changes, self._changes = (
                    self._changes,
                    _Changes(is_everything=False, has_requests=False),
                )
            if self._closed.is_set():
                return
            try:
                self._deliver(self._news(changes))
            except NotRunning:
                pass  # the reading thread reports this, and has everything fetched later
            except RookeryError as error:
                # The reading thread is still connected: nothing else would fetch these changes.
                self._retry_later(error)

    def _is_due(self) -> bool:
        return self._closed.is_set() or not (self._paused or self._changes.is_empty)

    def _news(self, changes: _Changes) -> SessionsNews:
        requests = list_requests(self._daemon).requests if changes.has_requests else None
        ids = frozenset(changes.ids)
        # One request names half as many ids as it may: each session may continue another one.
        if changes.is_everything or len(ids) > MAX_IDS_PER_REQUEST // 2:
            return SessionsNews(self._all_listed(), None, requests, self._muted())
        if not ids:
            return SessionsNews(None, ids, requests)
        listed = list_changed(self._daemon, ids)
        if continued := _continued(listed, changes.begun) - ids:
            # The sessions that are continued get no event of their own.
            ids |= continued
            listed = list_changed(self._daemon, ids)
        return SessionsNews(listed, ids, requests)

    def _all_listed(self) -> SessionList:
        """Return the sessions that the daemon lists and, if wanted, the hidden live ones."""
        listed = list_sessions(self._daemon)
        if not self._with_hidden:
            return listed
        known = {each.id for each in listed.sessions}
        hidden = (
            each
            for each in list_sessions(self._daemon, all=True).sessions
            if each.id not in known and not each.ended_at
        )
        return listed.with_changes(sessions=(*listed.sessions, *hidden))

    def _muted(self) -> frozenset[str]:
        try:
            muted = list_muted(self._daemon).sessions
        except Answered:  # the interface runs in a session, which may not list muted ones
            return frozenset()
        return frozenset(str(each.json.get("session")) for each in muted)


def _continued(listed: SessionList, begun: set[str]) -> frozenset[str]:
    """Return the sessions whose conversations the sessions that have begun continue."""
    return frozenset(
        each.continues for each in listed.sessions if each.id in begun and each.continues
    )
