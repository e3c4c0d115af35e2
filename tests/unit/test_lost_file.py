from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model.errors import StoreLost
from rookery.store.database import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database(tmp_path / "rookery.db") as database:
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


@pytest.mark.spec("K4")
async def test_once_its_file_is_back_it_goes_on(database: Database, tmp_path: Path) -> None:
    away = database.path.rename(tmp_path / "away")
    with pytest.raises(StoreLost):
        await database.write(note)

    away.rename(database.path)
    await database.write(note)

    assert await database.read(notes) == 1
