"""A backup file: made new by us, or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rookery.operations.maintenance import _copy_apart
from rookery.store.connections import open_file
from rookery.store.migrations import migrate

pytestmark = pytest.mark.spec("K1", "I5")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "rookery.db"
    with closing(open_file(path)) as db:
        migrate(db)
    return path


def test_a_backup_is_private_and_whole(tmp_path: Path, database: Path) -> None:
    copy = tmp_path / "copy.db"

    _copy_apart(database, copy)

    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("select count(*) from sessions").fetchone() == (0,)


@pytest.mark.parametrize("planted", ["file", "link", "dangling"])
def test_a_file_that_is_there_is_neither_written_nor_removed(
    tmp_path: Path, database: Path, planted: str
) -> None:
    copy, victim = tmp_path / "copy.db", tmp_path / "victim"
    if planted == "file":
        copy.write_text("precious")
    else:
        copy.symlink_to(victim)
    if planted == "link":
        victim.write_text("precious")

    with pytest.raises(FileExistsError):
        _copy_apart(database, copy)

    if planted == "dangling":
        assert not victim.exists()
    else:
        assert copy.read_text() == "precious"
    assert copy.is_symlink() is (planted != "file")
