from __future__ import annotations

from sqlite3 import Connection

import pytest

from rookery.model.errors import KeyReused
from rookery.store.answered_commands import Key, once
from rookery.store.database import Database
from tests.support.fakes.clock import FakeClock

KEY = Key("key-1", "start", "digest of what was asked")


class Deed:
    """Something that must be done once, and leaves a trace each time."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, db: Connection) -> str:
        self.times += 1
        db.execute("insert into bookmarks values (?, 0)", (f"trace {self.times}",))
        return f"answer {self.times}"


def traces(db: Connection) -> int:
    return len(db.execute("select * from bookmarks").fetchall())


@pytest.mark.spec("A3")
def test_a_command_asked_again_is_answered_again_and_done_once(
    db: Connection, clock: FakeClock
) -> None:
    deed = Deed()

    first = once(db, KEY, deed, clock.now())
    clock.advance(60)
    second = once(db, KEY, deed, clock.now())

    assert first == second == "answer 1"
    assert traces(db) == 1


def test_without_a_key_it_is_done_as_often_as_asked(db: Connection, clock: FakeClock) -> None:
    deed = Deed()

    assert [once(db, None, deed, clock.now()) for _ in range(2)] == ["answer 1", "answer 2"]


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "other", [Key("key-1", "end", KEY.digest), Key("key-1", "start", "another digest")]
)
def test_a_key_is_not_for_another_command(db: Connection, clock: FakeClock, other: Key) -> None:
    deed = Deed()
    once(db, KEY, deed, clock.now())

    with pytest.raises(KeyReused, match="key-1"):
        once(db, other, deed, clock.now())
    assert traces(db) == 1


def test_another_key_is_another_command(db: Connection, clock: FakeClock) -> None:
    deed = Deed()

    once(db, KEY, deed, clock.now())
    once(db, Key("key-2", KEY.operation, KEY.digest), deed, clock.now())

    assert traces(db) == 2


@pytest.mark.anyio
@pytest.mark.spec("A3", "K3")
async def test_what_failed_leaves_neither_deed_nor_answer(
    database: Database, clock: FakeClock
) -> None:
    deed = Deed()

    def fail(db: Connection) -> str:
        deed(db)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(lambda db: once(db, KEY, fail, clock.now()))
    undone = await database.read(traces)
    answer = await database.write(lambda db: once(db, KEY, deed, clock.now()))

    assert undone == 0
    assert answer == "answer 2"
    assert await database.read(traces) == 1
