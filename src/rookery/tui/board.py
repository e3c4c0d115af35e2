"""The state of the list: sessions, requests, what is selected, and the rows to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import TypeAlias, TypeVar

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession, SessionList
from rookery.presentation.evidence import rules_warning
from rookery.presentation.next_steps import lost_hint
from rookery.presentation.order import Rank, tree
from rookery.presentation.projects import project_folders
from rookery.presentation.states import Standing, standing
from rookery.tui.feed import SessionsNews
from rookery.tui.fuzzy import score
from rookery.tui.row_order import RowOrder
from rookery.tui.session_view import Extras, searched_text, shown_folder

T = TypeVar("T")

#: The group of sessions without a tag.
UNTAGGED = "no tag"


class BoardView(StrEnum):
    """Which sessions are listed."""

    LIVE = "live"
    WAITING = "waiting"
    WORKING = "working"
    FAILED = "failed"
    ALL = "all"


class Grouping(StrEnum):
    NONE = "none"
    PROJECT = "project"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class BoardHeading:
    title: str
    count: int


@dataclass(frozen=True, slots=True)
class BoardSession:
    session: ListedSession
    depth: int = 0  #: in the tree of sessions that started each other
    is_marked: bool = False
    is_muted: bool = False


BoardRow: TypeAlias = BoardHeading | BoardSession

_IN_VIEW: dict[BoardView, Callable[[ListedSession], bool]] = {
    BoardView.LIVE: lambda each: standing(each) is not Standing.ENDED,
    BoardView.WAITING: lambda each: standing(each) is Standing.NEEDS_YOU,
    BoardView.WORKING: lambda each: standing(each) in {Standing.WORKING, Standing.STARTING},
    BoardView.FAILED: lambda each: standing(each) is Standing.FAILED,
    BoardView.ALL: lambda each: True,
}


@dataclass(slots=True)
class Board:
    """What the interface knows of the daemon's sessions, and how the user looks at them."""

    sessions: dict[str, ListedSession] = field(default_factory=dict)
    requests: dict[str, tuple[RequestInfo, ...]] = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)
    on_timeout: str = ""
    is_holding: bool = False
    #: Why the list may be outdated, or rules, hooks or settings not apply, or what was lost.
    trouble: str = ""
    marked: set[str] = field(default_factory=set)
    muted: set[str] = field(default_factory=set)  #: ids
    view: BoardView = BoardView.LIVE
    grouping: Grouping = Grouping.NONE
    is_tree: bool = False
    shows_hidden: bool = False
    query: str = ""
    selected: str = ""  #: the id of the selected session, which keeps its place in the list
    order: RowOrder = field(default_factory=RowOrder)
    #: The selected session, and the view and search in which it stays listed whatever happens
    #: to it: otherwise another session would be under the cursor when a key is pressed.
    _held: tuple[str, BoardView, str] = ("", BoardView.LIVE, "")

    def take(self, news: SessionsNews) -> None:
        """Take what the feed has fetched."""
        if news.listed is not None and news.ids is None:
            self.replace(news.listed)
        elif news.listed is not None and news.ids is not None:
            self.merge(news.listed, news.ids)
        if news.requests is not None:
            self.take_requests(news.requests)
        if news.muted is not None:
            self.muted = set(news.muted)

    def replace(self, listed: SessionList) -> None:
        """Take a complete list of sessions."""
        gone = self.sessions.keys() - {each.id for each in listed.sessions}
        self.sessions = {each.id: each for each in listed.sessions}
        for each in gone:
            self.order.forget(each)
        self.extras = Extras(listed.kept, listed.failures, listed.pending, listed.overlaps)
        self.marked &= {*self.sessions}
        self._take_rest(listed)

    def merge(self, listed: SessionList, ids: Iterable[str]) -> None:
        """Take the current state of some sessions; a session that is not listed is gone."""
        changed = {*ids}
        for gone in changed - {each.id for each in listed.sessions}:
            self.sessions.pop(gone, None)
            self.marked.discard(gone)
            self.order.forget(gone)
        self.sessions.update({each.id: each for each in listed.sessions})
        self.extras = Extras(
            _merged(self.extras.kept, listed.kept, changed),
            _merged(self.extras.failures, listed.failures, changed),
            _merged(self.extras.pending, listed.pending, changed),
            listed.overlaps,  # each answer has the overlaps of all sessions
        )
        self._take_rest(listed)

    def _take_rest(self, listed: SessionList) -> None:
        self._held = self.selected, self.view, self.query
        self.on_timeout, self.is_holding = listed.on_timeout, listed.holding
        rules = rules_warning(listed.rules_problem) if listed.rules_problem else ""
        lost = lost_hint(listed.lost) if listed.lost else ""
        problems = (listed.trouble, rules, listed.hooks_problem, listed.config_note, lost)
        self.trouble = next(filter(None, problems), "")

    def take_requests(self, requests: Iterable[RequestInfo]) -> None:
        """Take all open requests, oldest first."""
        found: dict[str, list[RequestInfo]] = {}
        for each in requests:
            if each.is_open:
                found.setdefault(each.session, []).append(each)
        self.requests = {
            session: tuple(sorted(some, key=lambda each: each.asked_at))
            for session, some in found.items()
        }

    def request_of(self, session: str) -> RequestInfo | None:
        """Return the oldest open request of a session."""
        return next(iter(self.requests.get(session, ())), None)

    def counts(self) -> dict[Standing, int]:
        """Count the sessions that are not hidden, or need the user, by standing."""
        found = dict.fromkeys(Standing, 0)
        for each in self.sessions.values():
            if each.is_asking or not each.hidden:
                found[standing(each)] += 1
        return found

    def rows(self) -> list[BoardRow]:
        """Return the rows of the list in their order."""
        sessions = self._listed()
        if self.query:
            return [self._row(each) for each in sessions]
        if self.grouping is Grouping.NONE:
            return [*self._block(sessions)]
        return [*self._groups(sessions)]

    def _groups(self, sessions: Sequence[ListedSession]) -> Iterator[BoardRow]:
        """Yield headings and rows; the group of the most urgent session comes first."""
        groups: dict[str, list[ListedSession]] = {}
        projects = project_folders(self.sessions.values())
        for each in sessions:
            for title in self._titles(each, projects):
                groups.setdefault(title, []).append(each)
        for title, members in groups.items():
            yield BoardHeading(title, len(members))
            yield from self._block(members)

    def _titles(self, session: ListedSession, projects: Mapping[str, str]) -> tuple[str, ...]:
        if self.grouping is Grouping.PROJECT:
            return (shown_folder(projects[session.id]),)
        return session.tags or (UNTAGGED,)

    def _block(self, sessions: Sequence[ListedSession]) -> Iterator[BoardSession]:
        if not self.is_tree:
            yield from map(self._row, sessions)
            return
        for depth, each in tree(sessions, self._rank):
            yield self._row(each, depth)

    def _row(self, session: ListedSession, depth: int = 0) -> BoardSession:
        return BoardSession(session, depth, session.id in self.marked, session.id in self.muted)

    def _listed(self) -> list[ListedSession]:
        is_in_view = _IN_VIEW[self.view]
        visible = (
            each
            for each in self.sessions.values()
            if self._is_visible(each) and (is_in_view(each) or self._is_held(each))
        )
        if not self.query:
            return sorted(visible, key=self._rank)
        scored = ((score(self.query, searched_text(each)), each) for each in visible)
        found = [(points, each) for points, each in scored if points or self._is_held(each)]
        return [
            each for _, each in sorted(found, key=lambda one: (-one[0], self._rank(one[1])))
        ]

    def _is_held(self, session: ListedSession) -> bool:
        is_selected = session.id == self.selected
        return is_selected and self._held == (session.id, self.view, self.query)

    def _rank(self, session: ListedSession) -> Rank:
        return self.order.rank(session, is_selected=session.id == self.selected)

    def _is_visible(self, session: ListedSession) -> bool:
        """Return whether a session may be listed; one that asks may, even if it is hidden."""
        return self.shows_hidden or session.is_asking or not session.hidden

    def next_unread(self, after: str) -> str:
        """Return the id of the next session that needs the user; empty if there is none.

        Failed sessions come second, unread ones third. The search begins below the session
        ``after``, and continues at the top.
        """
        ids = [row.session.id for row in self.rows() if isinstance(row, BoardSession)]
        at = ids.index(after) + 1 if after in ids else 0
        ordered = [self.sessions[each] for each in (*ids[at:], *ids[:at]) if each != after]
        needy = (each.id for each in ordered if standing(each) is Standing.NEEDS_YOU)
        failed = (each.id for each in ordered if standing(each) is Standing.FAILED)
        unread = (each.id for each in ordered if each.is_unread)
        return next(chain(needy, failed, unread), "")

    def targets(self, selected: str) -> list[ListedSession]:
        """Return the sessions that an action applies to: the marked ones, else the selected."""
        ids = [each for each in self.sessions if each in self.marked] or [selected]
        return [self.sessions[each] for each in ids if each in self.sessions]


def _merged(old: Mapping[str, T], new: Mapping[str, T], changed: set[str]) -> dict[str, T]:
    return {**{each: value for each, value in old.items() if each not in changed}, **new}
