from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from sqlite3 import Connection, OperationalError

import anyio
import pytest

from rookery.model.errors import CommitFailed, SessionUnknown
from rookery.model.facts import (
    Fact,
    SessionId,
    SessionRenamed,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from rookery.store import journal as journal_module
from rookery.store import sessions
from rookery.store.database import Database
from rookery.store.journal import Entry, Journal, Reader, read_entry
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, WORKER, settle_in

ALL: frozenset[type[Fact]] = frozenset({SessionStarted, TurnStarted, TurnEnded})


class Diary:
    """A reader that writes down what it is shown, and chokes on some of it."""

    def __init__(
        self,
        *,
        chokes_on: int = 0,
        hears: Iterable[type[Fact]] = ALL,
        wants_past: bool = True,
        writes: str = "row",
    ) -> None:
        self.seen: list[int] = []
        self.reader = Reader(frozenset(hears), self._react, wants_past)
        self._chokes_on = chokes_on
        self._writes = writes

    def _react(self, db: Connection, entry: Entry) -> None:
        self.seen.append(entry.seq)
        db.execute(
            "insert into hooks (key, at) values (?, '')", (f"{self._writes} of {entry.seq}",)
        )
        if entry.seq == self._chokes_on:
            raise ZeroDivisionError


def rows(db: Connection) -> list[str]:
    return [row["key"] for row in db.execute("select key from hooks order by key")]


def parked(db: Connection) -> list[int]:
    return [row["seq"] for row in db.execute("select seq from parked")]


def bookmarks(db: Connection) -> dict[str, int | None]:
    return {row["reader"]: row["seq"] for row in db.execute("select * from bookmarks")}


async def say(database: Database, journal: Journal, *facts: Fact) -> None:
    await database.write(lambda db: journal.append(db, *facts))


@pytest.mark.spec("A2")
def test_a_fact_and_the_state_it_leads_to_are_written_together(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)

    seq = journal.append(db, TurnStarted(WORKER, "go"))

    (last,) = db.execute("select max(seq) from entries").fetchone()
    assert seq == last
    assert sessions.get(db, WORKER).activity == "working"


def test_a_fact_comes_back_as_it_was_written(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    settle_in(db, journal)
    fact = TurnEnded(WORKER, "Grüße\n\0 🦜", "interrupted")

    seq = journal.append(db, fact)

    row = db.execute("select * from entries where seq = ?", (seq,)).fetchone()
    assert read_entry(row) == Entry(seq, clock.now(), fact)


def test_a_fact_about_nobody_is_refused(db: Connection, journal: Journal) -> None:
    with pytest.raises(SessionUnknown, match="nobody"):
        journal.append(db, TurnEnded(SessionId("nobody")))


def test_a_long_text_is_cut_and_says_so(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)

    fits = journal.append(db, TurnEnded(WORKER, "a" * 64_000))
    seq = journal.append(db, TurnEnded(WORKER, "a" * 64_005))

    bodies = [
        read_entry(row).fact
        for row in db.execute("select * from entries where seq >= ? order by seq", (fits,))
    ]
    assert seq == fits + 1
    assert bodies == [
        TurnEnded(WORKER, "a" * 64_000),
        TurnEnded(WORKER, "a" * 64_000 + "… (5 more characters)"),
    ]


@pytest.mark.anyio
async def test_a_new_reader_is_shown_all_in_order_and_then_kept_abreast(
    database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PAGE_ENTRIES", 2)
    diary = Diary()
    journal = Journal("here", clock, {"diary": diary.reader})
    await database.write(partial(settle_in, journal=journal))
    before = list(diary.seen)

    await journal.catch_up(database)
    await say(database, journal, TurnEnded(ANNA))

    assert before == []
    assert diary.seen == [1, 2, 3, 4]
    assert await database.read(bookmarks) == {"diary": None}


@pytest.mark.anyio
async def test_a_new_reader_that_does_not_ask_for_the_past_begins_at_the_present(
    database: Database, clock: FakeClock
) -> None:
    diary = Diary(wants_past=False)
    await database.write(partial(settle_in, journal=Journal("here", clock, {})))
    journal = Journal("here", clock, {"diary": diary.reader})

    await journal.catch_up(database)
    await say(database, journal, TurnEnded(ANNA))

    assert diary.seen == [4]
    assert await database.read(bookmarks) == {"diary": None}


@pytest.mark.anyio
async def test_what_a_late_reader_does_not_hear_is_not_even_read(
    database: Database, clock: FakeClock
) -> None:
    diary = Diary(hears={TurnEnded})
    journal = Journal("here", clock, {"diary": diary.reader})
    await database.write(partial(settle_in, journal=journal))
    await database.write(lambda db: db.execute("update entries set body = 'no fact'"))
    await say(database, journal, TurnEnded(ANNA))

    await journal.catch_up(database)

    assert diary.seen == [4]


@pytest.mark.anyio
async def test_a_late_reader_catches_up_in_pages(
    database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PAGE_ENTRIES", 2)
    diary = Diary()
    journal = Journal("here", clock, {"diary": diary.reader})
    await database.write(partial(settle_in, journal=journal))

    pages = []
    for _ in range(3):
        more = await database.write(partial(journal.show_page, "diary"))
        pages.append((more, list(diary.seen), (await database.read(bookmarks))["diary"]))

    assert pages == [(True, [1, 2], 2), (True, [1, 2, 3], 3), (False, [1, 2, 3], None)]


@pytest.mark.anyio
async def test_a_reader_is_shown_nothing_twice_after_a_restart(
    database: Database, clock: FakeClock
) -> None:
    before, after = Diary(), Diary()
    journal = Journal("here", clock, {"diary": before.reader})
    await database.write(partial(settle_in, journal=journal))
    await journal.catch_up(database)

    journal = Journal("here", clock, {"diary": after.reader})
    await journal.catch_up(database)
    await say(database, journal, TurnEnded(ANNA))

    assert before.seen == [1, 2, 3]
    assert after.seen == [4]


@pytest.mark.anyio
async def test_a_reader_that_left_and_comes_back_is_shown_what_it_missed(
    database: Database, clock: FakeClock
) -> None:
    before, after = Diary(), Diary()
    journal = Journal("here", clock, {"diary": before.reader})
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    without = Journal("here", clock, {})
    await without.catch_up(database)
    left_at = await database.read(bookmarks)
    await say(database, without, TurnStarted(WORKER, "go"), TurnEnded(WORKER))
    await Journal("here", clock, {"diary": after.reader}).catch_up(database)

    assert before.seen == [1, 2, 3]
    assert left_at == {"diary": 3}
    assert after.seen == [4, 5]


@pytest.mark.anyio
async def test_a_reader_is_shown_only_what_it_hears(
    database: Database, clock: FakeClock
) -> None:
    late, abreast = Diary(hears={TurnEnded}), Diary(hears={TurnEnded})
    journal = Journal("here", clock, {"abreast": abreast.reader})
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    await say(database, journal, TurnStarted(WORKER, "go"), TurnEnded(ANNA))
    await Journal("here", clock, {"late": late.reader}).catch_up(database)

    assert abreast.seen == late.seen == [5]


@pytest.mark.anyio
@pytest.mark.spec("C5")
async def test_an_entry_that_a_reader_chokes_on_is_parked_and_the_rest_goes_on(
    database: Database, clock: FakeClock
) -> None:
    clumsy = Diary(chokes_on=4)
    journal = Journal("here", clock, {"clumsy": clumsy.reader})
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    await say(database, journal, TurnStarted(WORKER, "go"))
    await say(database, journal, TurnEnded(WORKER))

    def look(db: Connection) -> None:
        (row,) = db.execute("select reader, seq, error from parked").fetchall()
        assert tuple(row) == ("clumsy", 4, "ZeroDivisionError()")
        assert rows(db) == ["row of 1", "row of 2", "row of 3", "row of 5"]
        assert sessions.get(db, WORKER).activity == "idle"

    await database.read(look)
    assert clumsy.seen == [1, 2, 3, 4, 4, 5]  # again, in a savepoint


@pytest.mark.anyio
@pytest.mark.spec("C5")
async def test_a_reader_that_fails_does_not_undo_or_repeat_what_the_others_wrote(
    database: Database, clock: FakeClock
) -> None:
    clumsy = Diary(chokes_on=4, writes="clumsy")
    readers = {
        "first": Diary(writes="first").reader,
        "clumsy": clumsy.reader,
        "last": Diary(writes="last").reader,
    }
    journal = Journal("here", clock, readers)
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    await say(database, journal, TurnStarted(WORKER, "go"))

    def look(db: Connection) -> None:
        (row,) = db.execute("select reader, seq from parked").fetchall()
        assert tuple(row) == ("clumsy", 4)
        assert [each for each in rows(db) if each.endswith(" 4")] == ["first of 4", "last of 4"]

    await database.read(look)


@pytest.mark.anyio
@pytest.mark.spec("C5")
async def test_readers_that_fail_together_lose_no_write_of_other_callers(
    database: Database, clock: FakeClock
) -> None:
    readers = {name: Diary(chokes_on=4, writes=name).reader for name in ("one", "two")}
    journal = Journal("here", clock, readers)
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    async with anyio.create_task_group() as tasks:
        for fact in (TurnStarted(WORKER, "go"), TurnStarted(ANNA, "go"), TurnEnded(WORKER)):
            tasks.start_soon(say, database, journal, fact)

    def look(db: Connection) -> None:
        assert parked(db) == [4, 4]
        expected = [f"{name} of {seq}" for name in readers for seq in (1, 2, 3, 5, 6)]
        assert rows(db) == expected

    await database.read(look)


@pytest.mark.anyio
@pytest.mark.spec("C5")
async def test_a_reader_that_fails_on_another_ones_fact_alone_is_parked(
    database: Database, clock: FakeClock
) -> None:
    def rename(db: Connection, entry: Entry) -> None:
        if entry.fact.session == WORKER:
            raise ZeroDivisionError
        journal.append(db, SessionRenamed(entry.fact.session, "anna-2"))

    clumsy = Diary(chokes_on=6, hears={SessionRenamed}, writes="clumsy")
    renaming = Reader(frozenset({TurnStarted}), rename)
    journal = Journal("here", clock, {"renaming": renaming, "clumsy": clumsy.reader})
    await journal.catch_up(database)
    await database.write(partial(settle_in, journal=journal))

    await say(database, journal, TurnStarted(WORKER, "go"))
    await say(database, journal, TurnStarted(ANNA, "go"))

    def look(db: Connection) -> None:
        found = db.execute("select reader, seq from parked order by seq").fetchall()
        assert [tuple(row) for row in found] == [("renaming", 4), ("clumsy", 6)]
        assert sessions.get(db, ANNA).name == "anna-2"

    await database.read(look)


@pytest.mark.anyio
@pytest.mark.spec("K4")
async def test_a_transaction_that_sqlite_gave_up_is_no_readers_fault(
    database: Database, clock: FakeClock
) -> None:
    def give_up(db: Connection, entry: Entry) -> None:  # as SQLite does when the disk is full
        db.execute("rollback")
        raise OperationalError

    journal = Journal("here", clock, {"unlucky": Reader(ALL, give_up)})
    await journal.catch_up(database)

    with pytest.raises(CommitFailed):
        await database.write(partial(settle_in, journal=journal))
    assert await database.read(parked) == []


@pytest.mark.anyio
async def test_a_late_reader_that_chokes_goes_on_too(
    database: Database, clock: FakeClock
) -> None:
    clumsy = Diary(chokes_on=2)
    journal = Journal("here", clock, {"clumsy": clumsy.reader})
    await database.write(partial(settle_in, journal=journal))

    await journal.catch_up(database)

    assert await database.read(rows) == ["row of 1", "row of 3"]
    assert await database.read(parked) == [2]


def test_a_number_is_never_used_again(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)
    last = journal.append(db, TurnEnded(WORKER))
    db.execute("delete from entries")

    assert journal.append(db, TurnEnded(WORKER)) == last + 1
