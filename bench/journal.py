"""Facts per second that many writers commit: group commit, compared with one transaction each.

The limit is bare SQLite: the same entries in transactions of the same size, with full sync, but
without sessions, reactions and other threads.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from statistics import median
from time import perf_counter

import anyio
import uvloop

from bench.figures import Figure
from bench.homes import scratch
from bench.sizes import Sizes
from rookery.clock import WallClock
from rookery.model.actors import PERSON
from rookery.model.facts import Fact, SessionId, SessionStarted, TurnEnded, TurnStarted
from rookery.model.messages import Origin, Words
from rookery.model.sessions import TMUX, Session
from rookery.store import messages, sessions
from rookery.store.connections import open_file
from rookery.store.database import MAX_BATCH_JOBS, Database
from rookery.store.journal import Entry, Journal, Reader

WRITERS = 64


def measure(sizes: Sizes) -> list[Figure]:
    rates = uvloop.run(_rates(sizes))
    alone, grouped = median(rates[1]), median(rates[MAX_BATCH_JOBS])
    bare = median(_bare(sizes) for _ in range(sizes.rounds))
    what = f"{WRITERS} writers, full sync, with a reaction"
    return [
        Figure(what, "facts/s", grouped, alone, limit=bare, goal=25_000, better="more"),
        Figure(
            "group commit compared with a transaction each",
            "×",
            grouped / alone,
            goal=5,
            better="more",
        ),
    ]


async def _rates(sizes: Sizes) -> dict[int, list[float]]:
    rates: dict[int, list[float]] = {1: [], MAX_BATCH_JOBS: []}
    with scratch() as folder:
        for number in range(sizes.rounds):
            for batch, found in rates.items():  # alternately, so that a busy disk affects both
                path = folder / f"{number}-{batch}.db"
                found.append(await _rate(path, batch=batch, facts=sizes.facts))
    return rates


def _bare(sizes: Sizes) -> float:
    """Return how many entries per second bare SQLite writes, ``WRITERS`` per transaction."""
    with scratch() as folder, closing(open_file(folder / "bare.db")) as db:
        db.execute("create table entries (seq integer primary key, at, session, kind, body)")
        row = ("2026-01-01T00:00:00+00:00", "0" * 36, "turn-ended", '{"last_words": "Built."}')
        began = perf_counter()
        for _ in range(sizes.facts):
            db.execute("begin immediate")
            for _ in range(WRITERS):
                db.execute("insert into entries values (null, ?, ?, ?, ?)", row)
            db.execute("commit")
        return WRITERS * sizes.facts / (perf_counter() - began)


async def _rate(path: Path, *, batch: int, facts: int) -> float:
    """Return how many facts per second are committed for ``WRITERS`` writers."""
    async with Database(path, WallClock(), batch=batch) as database:
        journal = Journal("here", database.clock, READERS)
        await journal.catch_up(database)
        ids = [SessionId(f"{number:08}") for number in range(WRITERS)]
        for session in ids:
            await database.write(partial(_settle, journal=journal, session=session))
        began = perf_counter()
        async with anyio.create_task_group() as tasks:
            for session in ids:
                tasks.start_soon(_work, database, journal, session, facts)
        return WRITERS * facts / (perf_counter() - began)


def _settle(db: Connection, journal: Journal, session: SessionId) -> None:
    now = journal.clock.now()
    row = Session(
        id=session,
        name=session,
        agent="demo",
        runtime=TMUX,
        computer="here",
        since=now,
        created_at=now,
        last_activity_at=now,
    )
    sessions.add(db, row)
    journal.append(db, SessionStarted(session))


async def _work(database: Database, journal: Journal, session: SessionId, facts: int) -> None:
    for turn in range(facts):
        ended = turn % 2
        fact = TurnEnded(session, "Built.") if ended else TurnStarted(session, "Build it.")
        await database.write(partial(_append, journal=journal, fact=fact))


def _append(db: Connection, journal: Journal, fact: Fact) -> int:
    return journal.append(db, fact)


def notify_next_session(db: Connection, entry: Entry) -> None:
    """React as a listener does: at every stop, queue a message for another session."""
    neighbour = db.execute("select id from sessions where id > ?", (entry.fact.session,))
    row = neighbour.fetchone()
    if row:
        words = Words(f"Session {entry.fact.session} finished its turn.", 0)
        messages.add(db, SessionId(row["id"]), words, Origin(PERSON, entry.seq))


READERS = {"bench": Reader(frozenset({TurnEnded}), notify_next_session)}
