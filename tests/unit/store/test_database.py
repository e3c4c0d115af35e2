from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from rookery.model.errors import CommitFailed, DiskFull, StoreBroken, StoreLocked
from rookery.store.database import Database, Work
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.connection import connection

pytestmark = pytest.mark.anyio


class Impatient(sqlite3.Connection):
    """Waits for no lock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as its base has it
        super().__init__(*args, **{**kwargs, "timeout": 0})


def bookmark(reader: str) -> Work[str]:
    def write(db: sqlite3.Connection) -> str:
        db.execute("insert into bookmarks values (?, 0)", (reader,))
        return reader

    return write


def stumble(db: sqlite3.Connection) -> str:
    bookmark("half done")(db)
    raise ZeroDivisionError


def enter(db: sqlite3.Connection) -> None:
    db.execute("insert into entries (at, session, kind, body) values ('', 's', '', '')")


def bookmarks(db: sqlite3.Connection) -> list[str]:
    return [row["reader"] for row in db.execute("select reader from bookmarks order by reader")]


async def in_one_batch(database: Database, *works: Work[Any]) -> list[Any]:
    """Hold the writer up until all ``works`` wait for it; return what each led to."""
    began, may_end = threading.Event(), threading.Event()

    def hold(db: sqlite3.Connection) -> None:
        began.set()
        may_end.wait(5)

    holding = asyncio.ensure_future(database.write(hold))
    await anyio.to_thread.run_sync(began.wait, 5)
    waiting = [asyncio.ensure_future(database.write(work)) for work in works]
    await checkpoint()
    assert database.waiting == len(works)
    may_end.set()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)


async def test_those_who_wait_share_one_commit(tmp_path: Path) -> None:
    commits: list[str] = []
    counted = connection(before_commit=lambda: commits.append("commit"))
    async with Database(tmp_path / "db", FakeClock(), connection=counted) as database:
        answers = await in_one_batch(database, *map(bookmark, "abc"))

        assert answers == ["a", "b", "c"]
        assert len(commits) == 2  # that of the one who held them up, and theirs


async def test_no_batch_is_so_long_that_its_first_waits_for_ever(tmp_path: Path) -> None:
    commits: list[str] = []
    counted = connection(before_commit=lambda: commits.append("commit"))
    async with Database(tmp_path / "db", FakeClock(), batch=2, connection=counted) as database:
        await in_one_batch(database, *map(bookmark, "abcd"))

        assert len(commits) == 3


async def test_one_that_raises_does_not_hurt_its_neighbours(database: Database) -> None:
    a, stumbled, c = await in_one_batch(database, bookmark("a"), stumble, bookmark("c"))

    assert isinstance(stumbled, ZeroDivisionError)
    assert [a, c] == await database.read(bookmarks)


async def test_an_answer_means_that_it_is_on_disk(tmp_path: Path) -> None:
    committing, may_commit = threading.Event(), threading.Event()

    def wait() -> None:
        committing.set()
        may_commit.wait(5)

    async with Database(
        tmp_path / "db", FakeClock(), connection=connection(before_commit=wait)
    ) as database:
        answer = asyncio.ensure_future(database.write(bookmark("a")))
        await anyio.to_thread.run_sync(committing.wait, 5)
        for _ in range(10):
            await checkpoint()

        assert not answer.done()
        assert await database.read(bookmarks) == []
        may_commit.set()
        assert await answer == "a"
        assert await database.read(bookmarks) == ["a"]


@pytest.mark.spec("K4")
async def test_a_failed_commit_fails_all_who_share_it_and_no_others(tmp_path: Path) -> None:
    troubles = [None, sqlite3.OperationalError("database or disk is full"), None]

    def stumble_once() -> None:
        if trouble := troubles.pop(0):
            raise trouble

    failing = connection(before_commit=stumble_once)
    async with Database(tmp_path / "db", FakeClock(), connection=failing) as database:
        answers = await in_one_batch(database, bookmark("a"), bookmark("b"))

        assert [type(answer) for answer in answers] == [CommitFailed, CommitFailed]
        assert answers[0] is not answers[1]
        assert await database.write(bookmark("c")) == "c"
        assert await database.read(bookmarks) == ["c"]


@pytest.mark.spec("K4")
async def test_a_transaction_that_sqlite_gave_up_fails_the_whole_batch(
    database: Database,
) -> None:
    def give_up(db: sqlite3.Connection) -> None:  # as SQLite does when the disk is full
        db.execute("rollback")
        raise sqlite3.OperationalError

    answers = await in_one_batch(database, bookmark("a"), give_up, bookmark("c"))

    assert [type(answer) for answer in answers] == [CommitFailed] * 3
    assert await database.read(bookmarks) == []


async def test_the_bell_rings_for_a_batch_with_entries_and_no_other(database: Database) -> None:
    bell = database.bell()
    await in_one_batch(database, bookmark("a"), stumble)
    silent = not bell.is_set()

    await in_one_batch(database, enter, enter)
    rung, after = bell.is_set(), database.bell()
    await database.write(bookmark("b"))

    assert silent
    assert rung
    assert database.bell() is after
    assert not after.is_set()


async def test_the_bell_does_not_ring_for_what_was_not_committed(tmp_path: Path) -> None:
    def fail() -> None:
        raise sqlite3.OperationalError

    async with Database(
        tmp_path / "db", FakeClock(), connection=connection(before_commit=fail)
    ) as database:
        bell = database.bell()
        with pytest.raises(CommitFailed):
            await database.write(enter)

        assert not bell.is_set()


async def test_what_was_asked_for_is_done_though_its_caller_left(database: Database) -> None:
    bell = database.bell()
    began, may_end = threading.Event(), threading.Event()

    def write(db: sqlite3.Connection) -> None:
        began.set()
        may_end.wait(5)
        enter(db)

    caller = asyncio.ensure_future(database.write(write))
    await anyio.to_thread.run_sync(began.wait, 5)
    caller.cancel()
    may_end.set()

    with anyio.fail_after(5):
        await bell.wait()


async def test_a_reading_sees_one_moment_and_holds_nobody_up(database: Database) -> None:
    reading, may_go_on = threading.Event(), threading.Event()

    def read_twice(db: sqlite3.Connection) -> list[list[str]]:
        first = bookmarks(db)
        reading.set()
        may_go_on.wait(5)
        return [first, bookmarks(db)]

    moments = asyncio.ensure_future(database.read(read_twice))
    await anyio.to_thread.run_sync(reading.wait, 5)
    with anyio.fail_after(5):
        await database.write(bookmark("a"))
    may_go_on.set()

    assert await moments == [[], []]
    assert await database.read(bookmarks) == ["a"]


async def test_what_was_asked_for_before_it_closes_is_done(tmp_path: Path) -> None:
    async with Database(tmp_path / "db", FakeClock()) as database:
        asked = [asyncio.ensure_future(database.write(bookmark(each))) for each in "ab"]
        await checkpoint()

    await asyncio.gather(*asked)
    async with Database(tmp_path / "db", FakeClock()) as database:
        assert await database.read(bookmarks) == ["a", "b"]


async def test_the_file_is_safe_against_a_power_cut(database: Database) -> None:
    def settings(db: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [db.execute(f"pragma {name}").fetchone()[0] for name in names]

    assert await database.write(settings) == ["wal", 2, 1]


@pytest.mark.spec("K4")
def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rookery.db"
    file.write_text("Dear diary, today I was mistaken for something else. " * 50)

    with pytest.raises(StoreBroken, match=r"rookery\.db"):
        Database(file, FakeClock())


@pytest.mark.spec("K4")
def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreBroken, match="nowhere"):
        Database(tmp_path / "nowhere" / "rookery.db", FakeClock())


@pytest.mark.spec("K4")
async def test_what_a_locked_database_refuses_is_said_not_to_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "rookery.db"

    async with Database(path, FakeClock(), connection=Impatient) as database:
        with closing(sqlite3.connect(path)) as other:
            other.execute("begin immediate")
            with pytest.raises(StoreLocked) as locked:
                await database.write(bookmark("never"))
        await database.write(bookmark("later"))
        found = await database.read(bookmarks)

    assert "nothing was saved" in str(locked.value)
    assert isinstance(locked.value, CommitFailed)
    assert found == ["later"]


@pytest.mark.spec("K4")
async def test_a_full_disk_is_named_and_forgotten_once_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rookery.db"

    def fill(db: sqlite3.Connection) -> None:
        (pages,) = db.execute("pragma page_count").fetchone()
        db.execute(f"pragma max_page_count = {pages}")
        db.execute("insert into bookmarks values (hex(zeroblob(1000000)), 1)")

    async with Database(path, FakeClock()) as database:
        for _ in range(2):
            with pytest.raises(DiskFull) as full:
                await database.write(fill)
        told, trouble = str(full.value), database.trouble
        await database.write(lambda db: db.execute("insert into bookmarks values ('x', 1)"))
        after = database.trouble

    assert told == (
        f"The disk is full; nothing was saved. Free some space, then try again: {path}"
    )
    assert (trouble, after) == (told, "")
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == [told]


@pytest.mark.spec("K3")
async def test_one_that_raises_alone_leaves_nothing_behind_and_is_tried_once(
    database: Database,
) -> None:
    tried = 0

    def write_and_fail(db: sqlite3.Connection) -> None:
        nonlocal tried
        tried += 1
        db.execute("insert into switches values ('half', 'done')")
        raise ValueError("not this one")

    def switched(db: sqlite3.Connection) -> int:
        return len(db.execute("select * from switches where name = 'half'").fetchall())

    with pytest.raises(ValueError, match="not this one"):
        await database.write(write_and_fail)

    assert tried == 1
    assert await database.read(switched) == 0
    assert await database.write(switched) == 0
    assert database.trouble == ""
