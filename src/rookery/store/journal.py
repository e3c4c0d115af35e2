"""Everything that happened, in order; and those who read it."""

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
from rookery.store.database import Database, savepoint
from rookery.store.projections import project
from rookery.store.times import stamp

_NAMES = {fact: name for name, fact in KINDS.items()}

#: Entries shown to a late reader in one work, so that writers need not wait for its history.
PAGE = 200

#: Characters kept of a text in the journal; the transcript has the rest.
LONGEST = 64_000


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    at: datetime
    fact: Fact


#: Decides what an entry leads to. It writes rows and cannot await, so it
#: cannot touch the world.
React: TypeAlias = Callable[[Connection, Entry], None]


@dataclass(frozen=True, slots=True)
class Reader:
    hears: frozenset[type[Fact]]  #: all else is not shown to it, and costs nothing
    react: React
    #: Whether a new reader is shown the past. Most only react to what happens from now on, and
    #: a million old entries would keep all doors shut for minutes.
    wants_past: bool = False


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one computer."""

    computer: str
    clock: Clock
    readers: Mapping[str, Reader]
    _abreast: set[str] = field(default_factory=set)

    def append(self, db: Connection, *facts: Fact, at: datetime | None = None) -> int:
        """Write each fact, the state it leads to, and what readers make of it.

        ``at`` is when it happened, if that was earlier than now. Returns the number of the
        last entry. All of it is one transaction, the writer's.
        """
        seq = 0
        for fact in facts:
            entry = self._enter(db, fact, at or self.clock.now())
            seq = entry.seq
            project(db, fact, seq=seq, at=entry.at)
            self._show_to_those_abreast(db, entry)
        return seq

    async def catch_up(self, database: Database) -> None:
        """Show each reader what it has missed. To be done before anything else is written."""
        await database.write(self._forget_those_who_left)
        for reader in self.readers:
            while await database.write(partial(self.show_page, reader)):
                pass
            self._abreast.add(reader)

    def show_page(self, reader: str, db: Connection) -> bool:
        """Show a reader the next of what it has missed. False once it is abreast."""
        known = self.readers[reader]
        db.execute(
            "insert into bookmarks values (?, iif(?, 0, null)) on conflict do nothing",
            (reader, known.wants_past),
        )
        kinds = json.dumps([_NAMES[each] for each in known.hears])
        rows = db.execute(
            "select * from entries where seq > (select coalesce(seq, 9e18) from bookmarks"
            " where reader = ?) and kind in (select value from json_each(?))"
            " order by seq limit ?",
            (reader, kinds, PAGE),
        ).fetchall()
        for row in rows:
            self._show(db, reader, read_entry(row))
        last = rows[-1]["seq"] if rows else None
        db.execute("update bookmarks set seq = ? where reader = ?", (last, reader))
        return bool(rows)

    def _enter(self, db: Connection, fact: Fact, at: datetime) -> Entry:
        added = db.execute(
            "insert into entries (at, session, kind, body) values (?, ?, ?, ?)",
            (stamp(at), fact.session, _NAMES[type(fact)], _body(fact)),
        )
        return Entry(added.lastrowid or 0, at, fact)

    def _show_to_those_abreast(self, db: Connection, entry: Entry) -> None:
        # Inside the writer's batch: deciding costs no commit of its own, and nobody
        # ever sees a fact whose consequences are still missing.
        kind = type(entry.fact)
        for reader in self._abreast:
            if kind in self.readers[reader].hears:
                self._show(db, reader, entry)

    def _show(self, db: Connection, reader: str, entry: Entry) -> None:
        try:
            with savepoint(db):
                self.readers[reader].react(db, entry)
        except Exception as error:
            if not db.in_transaction:
                raise
            # Parked, not retried: one poisonous entry must stop neither the journal,
            # which only tells what happened, nor the reader, whom others wait for.
            db.execute(
                "insert or ignore into parked (reader, seq, at, error) values (?, ?, ?, ?)",
                (reader, entry.seq, self.clock.now().isoformat(), repr(error)),
            )

    def _forget_those_who_left(self, db: Connection) -> None:
        """Let a reader that is not here now find its place, should it ever come back."""
        here = json.dumps(list(self.readers))
        db.execute(
            "update bookmarks set seq = (select coalesce(max(seq), 0) from entries)"
            " where seq is null and reader not in (select value from json_each(?))",
            (here,),
        )


def read_entry(row: Row) -> Entry:
    fact = KINDS[row["kind"]](**json.loads(row["body"]))
    return Entry(row["seq"], datetime.fromisoformat(row["at"]), fact)


def _body(fact: Fact) -> str:
    """Write a fact as JSON; quickly, as all wait for the one thread that does it."""
    try:
        body = msgspec.json.encode(fact)
    except UnicodeEncodeError:  # half of a character, which JSON can spell
        return json.dumps(_cut(fact))
    return body.decode() if len(body) <= LONGEST else json.dumps(_cut(fact))


def _cut(fact: Fact) -> dict[str, object]:
    return {
        name: value[:LONGEST] + f"… ({len(value) - LONGEST} more characters)"
        if isinstance(value, str) and len(value) > LONGEST
        else value
        for name, value in msgspec.structs.asdict(fact).items()
    }
