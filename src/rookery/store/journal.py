"""The journal: all facts in order, and the readers that react to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from sqlite3 import Connection, Row
from typing import TypeAlias

import msgspec

from rookery.model.facts import KINDS, Fact
from rookery.ports.clock import Clock
from rookery.store.connections import RepeatNeeded, savepoint
from rookery.store.database import Database
from rookery.store.projections import project
from rookery.store.timestamps import stamp

_NAMES = {fact: name for name, fact in KINDS.items()}

#: Maximum entries given to a lagging reader in one transaction, so that other writers need not
#: wait for the whole backlog.
PAGE_ENTRIES = 200

#: Maximum characters stored of each text field; the transcript has the full text.
MAX_TEXT_CHARACTERS = 64_000


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    at: datetime
    fact: Fact


#: Writes the rows that follow from an entry. It cannot await, so it has no effects outside
#: the database.
React: TypeAlias = Callable[[Connection, Entry], None]


@dataclass(frozen=True, slots=True)
class Reader:
    hears: frozenset[type[Fact]]  #: only facts of these types are passed to the reader
    react: React
    #: Whether a new reader starts with the oldest entry. Most readers react to new entries
    #: only, and a million old ones would delay the start of the daemon by minutes.
    wants_past: bool = False


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one computer."""

    computer: str
    clock: Clock
    readers: Mapping[str, Reader]
    _caught_up: set[str] = field(default_factory=set)
    #: Readers that have failed, each of which runs in a savepoint from then on.
    _isolated: set[str] = field(default_factory=set)

    def append(self, db: Connection, *facts: Fact, at: datetime | None = None) -> int:
        """Append each fact, update the projections and run the readers.

        All of it is part of the writer's transaction. ``at`` is the time of the facts; now if
        None. Returns the number of the last entry.
        """
        seq = 0
        for fact in facts:
            entry = self._insert(db, fact, at or self.clock.now())
            seq = entry.seq
            project(db, fact, seq=seq, at=entry.at)
            self._run_caught_up_readers(db, entry)
        return seq

    async def catch_up(self, database: Database) -> None:
        """Give each reader the entries that it missed. Must run before any other write."""
        await database.write(self._bookmark_absent_readers)
        for reader in self.readers:
            while await database.write(partial(self.show_page, reader)):
                pass
            self._caught_up.add(reader)

    def show_page(self, reader: str, db: Connection) -> bool:
        """Give a reader the next entries that it missed. Return False once it has caught up.

        A bookmark is null once its reader has caught up. Null reads as ``9e18``, which no entry
        exceeds, so such a reader gets none.
        """
        configured = self.readers[reader]
        db.execute(
            "insert into bookmarks values (?, iif(?, 0, null)) on conflict do nothing",
            (reader, configured.wants_past),
        )
        kinds = json.dumps([_NAMES[each] for each in configured.hears])
        rows = db.execute(
            "select * from entries where seq > (select coalesce(seq, 9e18) from bookmarks"
            " where reader = ?) and kind in (select value from json_each(?))"
            " order by seq limit ?",
            (reader, kinds, PAGE_ENTRIES),
        ).fetchall()
        for row in rows:
            self._run_reader(db, reader, read_entry(row))
        last = rows[-1]["seq"] if rows else None
        db.execute("update bookmarks set seq = ? where reader = ?", (last, reader))
        return bool(rows)

    def _insert(self, db: Connection, fact: Fact, at: datetime) -> Entry:
        added = db.execute(
            "insert into entries (at, session, kind, body) values (?, ?, ?, ?)",
            (stamp(at), fact.session, _NAMES[type(fact)], _body(fact)),
        )
        return Entry(added.lastrowid or 0, at, fact)

    def _run_caught_up_readers(self, db: Connection, entry: Entry) -> None:
        # In the writer's transaction: reactions need no commit of their own, and no caller
        # ever sees a fact without its consequences.
        kind, caught_up = type(entry.fact), self._caught_up
        for name, reader in self.readers.items():
            if kind not in reader.hears or name not in caught_up:
                continue
            if name in self._isolated:
                self._run_reader(db, name, entry)
            else:
                self._run_without_savepoint(db, name, entry)

    def _run_without_savepoint(self, db: Connection, reader: str, entry: Entry) -> None:
        """Run a reader; if it fails, have the transaction repeated with a savepoint for it.

        Most readers never fail, and a savepoint takes as long as several queries: SQLite copies
        each page that is changed in it.
        """
        try:
            self.readers[reader].react(db, entry)
        except Exception as error:
            if not db.in_transaction:
                raise
            self._isolated.add(reader)
            raise RepeatNeeded from error

    def _run_reader(self, db: Connection, reader: str, entry: Entry) -> None:
        try:
            with savepoint(db):
                self.readers[reader].react(db, entry)
        except Exception as error:
            if not db.in_transaction:
                raise
            # Park it, do not retry: one bad entry must stop neither the journal, which only
            # records what happened, nor the reader, on which other sessions depend.
            db.execute(
                "insert or ignore into parked (reader, seq, at, error) values (?, ?, ?, ?)",
                (reader, entry.seq, stamp(self.clock.now()), repr(error)),
            )

    def _bookmark_absent_readers(self, db: Connection) -> None:
        """Store the position of caught-up readers that are no longer configured.

        They resume there if they are configured again.
        """
        configured = json.dumps(list(self.readers))
        db.execute(
            "update bookmarks set seq = (select coalesce(max(seq), 0) from entries)"
            " where seq is null and reader not in (select value from json_each(?))",
            (configured,),
        )


def read_entry(row: Row) -> Entry:
    fact = KINDS[row["kind"]](**json.loads(row["body"]))
    return Entry(row["seq"], datetime.fromisoformat(row["at"]), fact)


def _body(fact: Fact) -> str:
    """Return a fact as JSON. This must be fast: it runs on the writer thread."""
    try:
        body = msgspec.json.encode(fact)
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
        return json.dumps(_cut(fact))
    # No field can be too long if the whole body is short.
    return body.decode() if len(body) <= MAX_TEXT_CHARACTERS else json.dumps(_cut(fact))


def _cut(fact: Fact) -> dict[str, object]:
    return {
        name: value[:MAX_TEXT_CHARACTERS]
        + f"… ({len(value) - MAX_TEXT_CHARACTERS} more characters)"
        if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS
        else value
        for name, value in msgspec.structs.asdict(fact).items()
    }
