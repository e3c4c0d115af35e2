"""Facts a second: one transaction for each work, and group commit; a reaction on.

Run it with ``python -m bench.journal [facts per writer]``.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from statistics import median
from time import perf_counter

import anyio
import uvloop

from rookery.clock import WallClock
from rookery.daemon import SWITCH
from rookery.model.facts import SessionId, SessionStarted, TurnEnded, TurnStarted
from rookery.model.messages import Words
from rookery.model.sessions import TMUX, Session
from rookery.store import messages, sessions
from rookery.store.database import BATCH, Database
from rookery.store.journal import Entry, Journal, Reader

WRITERS = 64
ROUNDS = 3


def tell_the_neighbour(db: Connection, entry: Entry) -> None:
    """React as a listener does: somebody waits for every stop, and is told."""
    neighbour = db.execute("select id from sessions where id > ?", (entry.fact.session,))
    row = neighbour.fetchone()
    if row:
        words = Words(f"Session {entry.fact.session} finished its turn.", 0)
        messages.add(db, SessionId(row["id"]), words, author="bench", cause=entry.seq)


READERS = {"bench": Reader(frozenset({TurnEnded}), tell_the_neighbour)}


async def measure(path: Path, *, batch: int, facts: int) -> float:
    """Return how many facts a second ``WRITERS`` writers get acknowledged."""
    async with Database(path, batch=batch) as database:
        journal = Journal("here", WallClock(), READERS)
        await journal.catch_up(database)
        ids = [SessionId(f"{number:08}") for number in range(WRITERS)]
        for session in ids:
            await database.write(partial(settle, journal=journal, session=session))
        began = perf_counter()
        async with anyio.create_task_group() as tasks:
            for session in ids:
                tasks.start_soon(work, database, journal, session, facts)
        return WRITERS * facts / (perf_counter() - began)


def settle(db: Connection, journal: Journal, session: SessionId) -> None:
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


async def work(database: Database, journal: Journal, session: SessionId, facts: int) -> None:
    for turn in range(facts):
        ended = turn % 2
        fact = TurnEnded(session, "Built.") if ended else TurnStarted(session, "Build it.")
        await database.write(lambda db, fact=fact: journal.append(db, fact))


async def main(facts: int) -> None:
    rates: dict[int, list[float]] = {1: [], BATCH: []}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for number in range(ROUNDS):
            for batch, found in rates.items():  # in turn, so that a busy disk is fair to both
                path = Path(folder, f"{number}-{batch}.db")
                found.append(await measure(path, batch=batch, facts=facts))
    alone, grouped = median(rates[1]), median(rates[BATCH])
    print(f"journal: {WRITERS} writers, full, a reaction on, median of {ROUNDS}")
    print(f"  one transaction each {alone:8,.0f} facts/s")
    print(f"  group commit         {grouped:8,.0f} facts/s")
    print(f"  ratio                {grouped / alone:8.1f}   (goal: 5, and 5,000 facts/s)")


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH)
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
