from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

import pytest

from rookery.model import facts
from rookery.model.blocks import Block, BlockKind
from rookery.model.facts import SessionId
from rookery.model.messages import Words
from rookery.model.notifications import NotificationKind, SessionOutcome
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import (
    blocks,
    driven_streams,
    foregrounds,
    message_batches,
    notifications,
    retention,
    sessions,
    statistics,
)
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, WORKER, make, settle_in

DAY = 86_400


def seqs(db: Connection) -> list[int]:
    return [row[0] for row in db.execute("select seq from entries order by seq")]


def everyone(db: Connection) -> list[str]:
    return [row[0] for row in db.execute("select id from sessions order by id")]


def forget_all(db: Connection, *, before: datetime) -> None:
    while retention.forget_aged(db, before=before):
        pass


@pytest.fixture
def young(db: Connection, journal: Journal, clock: FakeClock) -> datetime:
    """Have three entries grow old, and two that are younger than the moment returned."""
    settle_in(db, journal)
    clock.advance(DAY)
    moment = clock.now()
    journal.append(db, facts.TurnStarted(WORKER, "go"), facts.TurnEnded(WORKER))
    return moment


def test_what_is_old_is_forgotten_and_what_is_younger_is_kept(
    db: Connection, young: datetime
) -> None:
    forget_all(db, before=young)

    assert seqs(db) == [4, 5]


def test_nothing_is_forgotten_that_a_reader_has_still_to_read(
    db: Connection, young: datetime
) -> None:
    db.execute("insert into bookmarks values ('slow', 1), ('slower', 2), ('abreast', null)")

    forget_all(db, before=young + timedelta(days=365))

    assert seqs(db) == [2, 3, 4, 5]


def test_a_reader_that_is_abreast_keeps_nothing_back(db: Connection, young: datetime) -> None:
    db.execute("insert into bookmarks values ('abreast', null)")

    forget_all(db, before=young)

    assert seqs(db) == [4, 5]


def test_old_hooks_and_old_commands_are_forgotten(db: Connection, clock: FakeClock) -> None:
    now = clock.now()
    old, new = (now - timedelta(days=2)).isoformat(), now.isoformat()
    db.execute("insert into hooks (key, at) values ('old', ?), ('new', ?)", (old, new))
    db.execute(
        "insert into commands values ('old', '', '', '', ?), ('new', '', '', '', ?)", (old, new)
    )

    forget_all(db, before=now - timedelta(days=1))

    for table in ("hooks", "commands"):
        assert [row[0] for row in db.execute(f"select key from {table}")] == ["new"]  # noqa: S608


def test_what_was_parked_goes_with_its_entry(db: Connection, young: datetime) -> None:
    db.execute("insert into parked values ('r', 2, '', 'x'), ('r', 4, '', 'x')")

    forget_all(db, before=young)

    assert [row[0] for row in db.execute("select seq from parked")] == [4]


def test_it_is_done_in_slices(
    db: Connection, young: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_DELETED_ROWS", 2)

    counts = [retention.forget_aged(db, before=young) for _ in range(3)]

    assert counts == [2, 1, 0]


@pytest.mark.spec("A10")
def test_of_those_that_ended_the_last_are_kept(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    end_one_after_the_other(db, journal, clock, "a", "b", "c")
    sessions.add(db, make(journal, "alive"))

    while retention.forget_sessions(db, keep=2):
        pass

    assert everyone(db) == ["alive", "b", "c"]


def test_sessions_are_forgotten_in_slices_too(
    db: Connection, journal: Journal, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_DELETED_ROWS", 20)
    end_one_after_the_other(db, journal, clock, *"abcde")

    counts = [retention.forget_sessions(db, keep=1) for _ in range(3)]

    assert counts == [2, 2, 0]
    assert everyone(db) == ["e"]


def test_old_blocks_are_forgotten_and_no_number_is_used_again(
    db: Connection, journal: Journal, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_DELETED_ROWS", 2)
    settle_in(db, journal)
    said = [Block(BlockKind.TEXT, "Hello.")] * 3
    blocks.append(db, ANNA, said, at=clock.now())
    blocks.append(db, WORKER, said[:2], at=clock.now())
    clock.advance(DAY)
    young = clock.now()
    journal.append(db, facts.SessionEnded(ANNA, "exit"))
    blocks.append(db, WORKER, said[:2], at=young)

    forget_all(db, before=young)
    left = [each.number for each in blocks.last(db, WORKER, 9)]
    clock.advance(DAY)
    forget_all(db, before=clock.now())

    assert (left, blocks.count(db, ANNA)) == ([3, 4], 0)
    assert blocks.append(db, WORKER, said[:1], at=clock.now()) == 5


def test_the_output_of_a_session_is_forgotten_in_slices_before_it(
    db: Connection, journal: Journal, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MAX_DELETED_ROWS", 20)
    end_one_after_the_other(db, journal, clock, *"ab")
    said = [Block(BlockKind.TEXT, "Hello.")] * 25
    for session in map(SessionId, "ab"):
        blocks.append(db, session, said, at=clock.now())

    left = list[tuple[int, list[str]]]()
    while retention.forget_sessions(db, keep=1):
        left.append((blocks.count(db, SessionId("a")), everyone(db)))

    assert left == [(25, ["a", "b"]), (0, ["b"])]
    assert blocks.count(db, SessionId("b")) == 25


def test_a_session_of_which_something_is_still_held_is_not_forgotten(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    end_one_after_the_other(db, journal, clock, "a", "b")
    sessions.hold(db, SessionId("a"))

    while retention.forget_sessions(db, keep=0):
        pass

    assert everyone(db) == ["a"]


def test_a_session_goes_with_its_words_and_its_turns(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)
    for words in ("One.", "Two."):
        commands.send(
            db,
            journal,
            speaker=MessageSender("person"),
            recipient=WORKER,
            words=Words(words, 0),
        )
    message_batches.claim(db, WORKER, journal.clock.now())
    journal.append(db, facts.TurnStarted(WORKER, "One.\n\nTwo."))
    foregrounds.enter(db, WORKER, "terminal", by="person", at=journal.clock.now())
    journal.append(db, facts.SessionEnded(WORKER, "exit"))

    retention.forget_sessions(db, keep=0)

    assert everyone(db) == ["anna", "bert"]
    for table in ("messages", "turns", "foregrounds"):
        assert db.execute(f"select * from {table}").fetchall() == []  # noqa: S608


@pytest.mark.spec("A11")
def test_the_forgotten_are_still_counted(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    settle_in(db, journal)
    end_one_after_the_other(db, journal, clock, "a", "b")
    clock.advance(DAY)
    end_one_after_the_other(db, journal, clock, "c")
    before = statistics.count(db)

    while retention.forget_sessions(db, keep=1):
        pass

    assert statistics.count(db) == before
    assert (before.launched, before.live, before.by_status["completed"]) == (6, 3, 3)
    assert (before.total_seconds, before.average_seconds) == (3.0, 1.0)


@pytest.mark.spec("D1")
@pytest.mark.parametrize("tie", ["parent", "continues"])
def test_a_session_is_kept_as_long_as_one_that_its_rules_bind(
    db: Connection, journal: Journal, clock: FakeClock, tie: str
) -> None:
    end_one_after_the_other(db, journal, clock, "first")
    child = make(journal, "child", **{tie: SessionId("first")})
    sessions.add(db, child)

    retention.forget_sessions(db, keep=0)
    kept = everyone(db)
    journal.append(db, facts.SessionEnded(child.id, "exit"))
    while retention.forget_sessions(db, keep=0):
        pass

    assert kept == ["child", "first"]
    assert everyone(db) == []


@pytest.mark.spec("A10", "D1")
@pytest.mark.parametrize("tie", ["parent", "continues"])
def test_of_those_that_ended_the_parents_of_kept_ones_are_kept(
    db: Connection, journal: Journal, clock: FakeClock, tie: str
) -> None:
    end_one_after_the_other(db, journal, clock, "first", "unrelated")
    sessions.add(db, make(journal, "child", **{tie: SessionId("first")}))
    clock.advance(1)
    journal.append(db, facts.SessionEnded(SessionId("child"), "exit"))

    while retention.forget_sessions(db, keep=1):
        pass

    assert everyone(db) == ["child", "first"]


def end_one_after_the_other(
    db: Connection, journal: Journal, clock: FakeClock, *names: str
) -> None:
    for name in names:
        sessions.add(db, make(journal, name))
        clock.advance(1)
        journal.append(db, facts.SessionEnded(SessionId(name), "exit"))


def test_what_was_kept_of_a_screen_goes_with_its_session(
    db: Connection, journal: Journal, tmp_path: Path
) -> None:
    settle_in(db, journal)
    for name in (WORKER, "forgotten"):
        (tmp_path / f"{name}.txt").write_text("its last screen")

    retention.forget_artifacts(db, folder=tmp_path)

    assert [each.stem for each in tmp_path.iterdir()] == [WORKER]


@pytest.mark.spec("H4")
def test_notifications_are_forgotten_when_they_are_old_or_their_session_is(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    settle_in(db, journal)
    carried = {"bell": [NotificationKind.FAILED]}
    notifications.put_channels(db, carried, at=clock.now())
    for subject, session in (("1", WORKER), ("2", ANNA)):
        outcome = SessionOutcome(session, NotificationKind.FAILED, subject, "", clock.now())
        notifications.add(db, outcome)
        clock.advance(DAY)
    notifications.mute(db, ANNA, until=None)

    forget_all(db, before=clock.now() - timedelta(seconds=DAY))
    kept = [each.session for each in notifications.latest(db, limit=9)]
    journal.append(db, facts.SessionEnded(ANNA, "exit"))
    retention.forget_sessions(db, keep=0)

    assert kept == [ANNA]
    assert ANNA not in everyone(db)


@pytest.mark.spec("A10")
def test_a_driven_session_is_forgotten_with_its_stream(
    db: Connection, journal: Journal
) -> None:
    sessions.add(db, make(journal, WORKER, runtime="sdk"))
    driven_streams.advance(db, WORKER, 1)
    journal.append(db, facts.SessionEnded(WORKER, "exit"))

    retention.forget_sessions(db, keep=0)

    assert everyone(db) == []
    assert db.execute("select * from driven_streams").fetchall() == []
