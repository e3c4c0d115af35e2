"""One time for a whole transaction, and nothing outside the database is read in one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model.facts import Noted
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.transaction_clock import TransactionClock
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, settle_in

pytestmark = pytest.mark.anyio


async def test_all_entries_of_a_transaction_have_the_time_at_which_it_began(
    database: Database, clock: FakeClock
) -> None:
    journal = Journal("here", database.clock, readers={})
    began = clock.now()

    def write_slowly(db: Connection) -> None:
        settle_in(db, journal)
        clock.advance(60)
        journal.append(db, Noted(ANNA, "late"))

    def times(db: Connection) -> set[str]:
        return {row["at"] for row in db.execute("select at from entries")}

    await database.write(write_slowly)

    assert {datetime.fromisoformat(each) for each in await database.read(times)} == {began}


async def test_outside_a_transaction_the_time_goes_on(
    database: Database, clock: FakeClock
) -> None:
    told: list[datetime] = []

    def look_elsewhere(db: Connection) -> datetime:
        clock.advance(60)
        told.append(TransactionClock(clock).now())
        return database.clock.now()

    began = clock.now()

    assert await database.write(look_elsewhere) == began
    assert told == [clock.now()]
    assert database.clock.now() == clock.now()
    assert await database.read(lambda _: database.clock.now()) == clock.now()


@pytest.mark.parametrize("what", ["a file", "its state", "/proc", "a clock"])
async def test_what_a_transaction_reads_outside_the_database_is_noticed(
    tmp_path: Path, clock: FakeClock, what: str
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    reads = {
        "a file": file.read_bytes,
        "its state": file.exists,
        "/proc": Path("/proc/self/stat").read_bytes,
        "a clock": clock.now,
    }

    async def read_it() -> None:
        async with ObservedDatabase(tmp_path / "db", clock) as database:
            database.keep_time_by(clock)
            await database.write(lambda _: reads[what]())

    with pytest.raises(AssertionError):
        await read_it()
