from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection, connect

import pytest

from rookery.model.errors import CommitFailed, StoreLost
from rookery.store.connections import CHECKPOINT_PAGES
from rookery.store.database import Database
from tests.support.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database(tmp_path / "rookery.db", FakeClock()) as database:
        await database.read(notes)  # as every daemon does: all its files are open then
        yield database


def note(db: Connection) -> None:
    db.execute("insert into bookmarks values ('somebody', 0) on conflict do nothing")


def notes(db: Connection) -> int:
    return len(db.execute("select * from bookmarks").fetchall())


@pytest.mark.spec("K4")
async def test_while_its_file_is_there_it_is_a_database(database: Database) -> None:
    await database.write(note)

    assert database.trouble == ""
    assert await database.read(notes) == 1


@pytest.mark.spec("K4")
async def test_without_its_file_it_takes_nothing_in_and_can_still_be_read(
    database: Database,
) -> None:
    await database.write(note)
    database.path.unlink()

    with pytest.raises(StoreLost, match="rookery backup FILE"):
        await database.write(lambda db: db.execute("delete from bookmarks"))

    assert "deleted or replaced" in database.trouble
    assert await database.read(notes) == 1


@pytest.mark.spec("K4")
async def test_another_file_in_its_place_is_not_taken_for_its_own(
    database: Database, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(database.path.read_bytes())
    other.replace(database.path)

    with pytest.raises(StoreLost):
        await database.write(note)


@pytest.mark.spec("K3", "K4")
async def test_without_its_write_ahead_log_it_takes_nothing_in(database: Database) -> None:
    await database.write(note)
    log = database.path.with_name("rookery.db-wal")
    log.unlink()

    with pytest.raises(StoreLost, match=r"rookery\.db-wal"):
        await database.write(lambda db: db.execute("delete from bookmarks"))

    assert "rookery backup FILE" in database.trouble
    assert await database.read(notes) == 1


@pytest.mark.spec("K3", "K4")
async def test_another_write_ahead_log_in_its_place_is_not_taken_for_its_own(
    database: Database,
) -> None:
    await database.write(note)
    log = database.path.with_name("rookery.db-wal")
    copy = log.with_name("copy")
    copy.write_bytes(log.read_bytes())
    copy.replace(log)

    with pytest.raises(StoreLost):
        await database.write(note)


@pytest.mark.spec("K4")
async def test_a_write_that_fails_is_a_trouble_until_one_succeeds(database: Database) -> None:
    with closing(connect(database.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(CommitFailed):
            await database.write(note)
        locked = await database.look_for_trouble(within=0.01)
        other.execute("rollback")
    free = await database.look_for_trouble(within=20)

    assert "database is locked" in locked
    assert (free, database.trouble) == ("", "")


@pytest.mark.spec("K4")
async def test_a_long_write_ahead_log_shrinks_once_it_can(database: Database) -> None:
    log = database.path.with_name("rookery.db-wal")
    many = CHECKPOINT_PAGES * 4096 + 8_000_000

    def fill(db: Connection) -> None:
        db.execute("insert into parked values ('r', 1, '', ?)", ("x" * many,))

    with closing(connect(database.path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select * from bookmarks").fetchall()
        await database.write(fill)
        grown = log.stat().st_size
        reader.execute("rollback")
    for _ in range(2):  # the first copies it into the file, the second begins it anew
        await database.write(note_again)

    assert grown > many
    assert log.stat().st_size <= CHECKPOINT_PAGES * 4096


def note_again(db: Connection) -> None:
    db.execute("insert into bookmarks select 'r' || count(*), 0 from bookmarks")


@pytest.mark.spec("K4")
async def test_once_its_file_is_back_it_goes_on(database: Database, tmp_path: Path) -> None:
    away = database.path.rename(tmp_path / "away")
    with pytest.raises(StoreLost):
        await database.write(note)

    away.rename(database.path)
    await database.write(note)

    assert await database.read(notes) == 1


@pytest.mark.spec("K4")
async def test_a_lock_is_noticed_before_the_first_write_fails(database: Database) -> None:
    with closing(connect(database.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        locked = await database.try_writing(within=0.1)
        other.execute("rollback")
    free = await database.try_writing(within=20)

    assert "may have locked it" in locked
    assert free == ""
