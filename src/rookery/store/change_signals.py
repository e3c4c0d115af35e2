"""Wake tasks that wait for new entries: any entry, entries of some sessions, or of some kinds.

A new block wakes the tasks that wait for its session, too.

A bell is an event that is set once. It carries no data: the woken task reads the store. Get
the bell before reading, so that no entry is missed between reading and waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import NamedTuple
from weakref import WeakSet

from rookery.model.facts import KINDS, NO_SESSION, Fact, Noted, UsageReported

_NAMES = {fact: name for name, fact in KINDS.items()}

#: Facts that never lead to work; the most frequent ones that agents report.
QUIET: frozenset[type[Fact]] = frozenset({Noted, UsageReported})
_QUIET_NAMES = frozenset(_NAMES[each] for each in QUIET)


class NewEntry(NamedTuple):
    """An entry that was just written."""

    seq: int
    session: str
    kind: str


class NewBlock(NamedTuple):
    """The last block of a session, if one was just written."""

    id: int
    session: str


class Written(NamedTuple):
    """The last rows of the store: an entry and a block."""

    entry: int
    block: int


class NewRows(NamedTuple):
    """What was just written, and the last rows after it."""

    entries: Sequence[NewEntry]
    blocks: Sequence[NewBlock]
    last: Written


def last_written(db: Connection) -> Written:
    row = db.execute(
        "select (select coalesce(max(seq), 0) from entries),"
        " (select coalesce(max(id), 0) from blocks)"
    ).fetchone()
    return Written(*row)


def news_after(db: Connection, last: Written) -> NewRows:
    # One statement without Python's rows: it is part of each commit.
    found = db.cursor()
    found.row_factory = None
    found.execute(
        "select seq, session, kind from entries where seq > ?"
        " union all select id, session, null from blocks where id > ?",
        last,
    )
    entries: list[NewEntry] = []
    blocks: dict[str, int] = {}
    for number, session, kind in found:
        if kind is None:
            blocks[session] = number
        else:
            entries.append(NewEntry(number, session, kind))
    entry = max((each.seq for each in entries), default=last.entry)
    block = max(blocks.values(), default=last.block)
    last_blocks = [NewBlock(number, session) for session, number in blocks.items()]
    return NewRows(entries, last_blocks, Written(entry, block))


@dataclass(slots=True)
class Bells:
    """The events of all waiting tasks. Use it on the event loop only."""

    _any: asyncio.Event = field(default_factory=asyncio.Event)
    _work: asyncio.Event = field(default_factory=asyncio.Event)
    #: Weak references: an event disappears with the task that waits for it.
    _sessions: dict[str, WeakSet[asyncio.Event]] = field(default_factory=dict)
    _kinds: dict[str, WeakSet[asyncio.Event]] = field(default_factory=dict)

    def of_any(self) -> asyncio.Event:
        """Return an event that is set at the next entry."""
        return self._any

    def of_work(self) -> asyncio.Event:
        """Return an event that is set at the next entry that may lead to work."""
        return self._work

    def of_sessions(self, sessions: Iterable[str]) -> asyncio.Event:
        """Return an event for the next entry about one of ``sessions``, or about all."""
        return _new_event(self._sessions, [*sessions, NO_SESSION])

    def of_kinds(self, kinds: Iterable[type[Fact]]) -> asyncio.Event:
        """Return an event that is set at the next entry of one of ``kinds``."""
        return _new_event(self._kinds, [_NAMES[each] for each in kinds])

    def ring(self, news: NewRows) -> None:
        """Wake the tasks that wait for one of these entries, or for output of a session."""
        for _, session, kind in news.entries:
            for event in (*self._sessions.pop(session, ()), *self._kinds.pop(kind, ())):
                event.set()
            self._any.set()
            if kind not in _QUIET_NAMES:
                self._work.set()
        for block in news.blocks:
            for event in self._sessions.pop(block.session, ()):
                event.set()
        if self._any.is_set():
            self._any = asyncio.Event()
        if self._work.is_set():
            self._work = asyncio.Event()

    def wake(self, session: str) -> None:
        """Wake tasks that wait for this session or for work: a change that is no entry."""
        for event in (*self._sessions.pop(session, ()), self._any, self._work):
            event.set()
        self._any, self._work = asyncio.Event(), asyncio.Event()


def _new_event(bells: dict[str, WeakSet[asyncio.Event]], names: Iterable[str]) -> asyncio.Event:
    event = asyncio.Event()
    for name in names:
        bells.setdefault(name, WeakSet()).add(event)
    return event
