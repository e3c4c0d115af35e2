from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model.errors import StoreLost
from rookery.store.anchored import AnchoredDatabase

pytestmark = pytest.mark.anyio


@pytest.fixture
async def anchored(tmp_path: Path) -> AsyncIterator[AnchoredDatabase]:
    async with AnchoredDatabase(tmp_path / "rookery.db") as database:
        await database.read(notes)  # as every daemon does: all its files are open then
        yield database


def note(db: Connection) -> None:
    db.execute("insert into bookmarks values ('somebody', 0) on conflict do nothing")


def notes(db: Connection) -> int:
    return len(db.execute("select * from bookmarks").fetchall())


@pytest.mark.spec("K4")
async def test_while_its_file_is_there_it_is_a_database(anchored: AnchoredDatabase) -> None:
    await anchored.write(note)

    assert anchored.trouble == ""
    assert await anchored.read(notes) == 1


@pytest.mark.spec("K4")
async def test_without_its_file_it_takes_nothing_in_and_can_still_be_read(
    anchored: AnchoredDatabase,
) -> None:
    await anchored.write(note)
    anchored.path.unlink()

    with pytest.raises(StoreLost, match="rookery backup FILE"):
        await anchored.write(lambda db: db.execute("delete from bookmarks"))

    assert "deleted or replaced" in anchored.trouble
    assert await anchored.read(notes) == 1


@pytest.mark.spec("K4")
async def test_another_file_in_its_place_is_not_taken_for_its_own(
    anchored: AnchoredDatabase, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(anchored.path.read_bytes())
    other.replace(anchored.path)

    with pytest.raises(StoreLost):
        await anchored.write(note)


@pytest.mark.spec("K4")
async def test_once_its_file_is_back_it_goes_on(
    anchored: AnchoredDatabase, tmp_path: Path
) -> None:
    away = anchored.path.rename(tmp_path / "away")
    with pytest.raises(StoreLost):
        await anchored.write(note)

    away.rename(anchored.path)
    await anchored.write(note)

    assert await anchored.read(notes) == 1
