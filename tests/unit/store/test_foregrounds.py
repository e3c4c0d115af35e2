"""What is in front of a person, and exactly what they missed."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.agents.catalog import AGENTS
from rookery.config import Settings
from rookery.model.errors import BadInput, Forbidden
from rookery.model.facts import SessionEnded, SessionId, TurnEnded, TurnStarted
from rookery.model.scopes import Identity, Scope
from rookery.operations.catalog import OPERATIONS
from rookery.operations.context import Context
from rookery.operations.foreground import MAX_MISSED_TURNS
from rookery.operations.idempotency import ask
from rookery.store import foregrounds, sessions
from rookery.store.database import Database
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.database import ObservedDatabase
from tests.support.rows import ANNA, BERT, WORKER, make, settle_in
from tests.support.waiting import kinds

pytestmark = pytest.mark.spec("H3")

PERSON = Identity(Scope.OWNER, "unix")
READER = Identity(Scope.READER, "tcp")


def say(db: Connection, journal: Journal, words: str) -> int:
    """Have the worker take a turn; return its number."""
    number = journal.append(db, TurnStarted(WORKER, f"say: {words}"))
    journal.append(db, TurnEnded(WORKER, words))
    return number


def missed(db: Connection, channel: str, *, last: int = MAX_MISSED_TURNS) -> list[str]:
    seen = foregrounds.seen(db, WORKER, channel)
    found = foregrounds.missed(db, WORKER, after=seen, last=last)
    return [turn.answer for turn in found.turns]


def test_each_channel_has_missed_what_it_was_not_shown(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    one, two = (say(db, journal, words) for words in ("one", "two"))

    foregrounds.mark(db, WORKER, "here", seen=two)
    foregrounds.mark(db, WORKER, "there", seen=one)
    say(db, journal, "three")

    assert missed(db, "here") == ["three"]
    assert missed(db, "there") == ["two", "three"]
    assert missed(db, "elsewhere") == ["one", "two", "three"]


def test_being_in_front_of_one_channel_is_nothing_to_another(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    now = journal.clock.now()

    entered = [
        foregrounds.enter(db, WORKER, each, by="person", at=now) for each in ("a", "b", "a")
    ]
    left = [foregrounds.leave(db, WORKER, each) for each in ("a", "a", "c")]

    assert entered == [True, True, False]
    assert left == [True, False, False]
    assert foregrounds.in_front(db, "a") == []
    (there,) = foregrounds.in_front(db, "b")
    assert (there.session, there.since) == (WORKER, now)
    assert foregrounds.enter(db, WORKER, "a", by="person", at=now) is True


def test_what_was_shown_only_ever_moves_forward(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)
    one, two = (say(db, journal, words) for words in ("one", "two"))

    marks = []
    for seen in (two, one, 0):
        foregrounds.mark(db, WORKER, "here", seen=seen)
        marks.append(foregrounds.seen(db, WORKER, "here"))

    assert marks == [two, two, two]


def test_nobody_has_seen_what_has_not_ended(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)
    one = say(db, journal, "one")
    journal.append(db, TurnStarted(WORKER, "say: two"))

    foregrounds.mark(db, WORKER, "here", seen=2**40)
    journal.append(db, TurnEnded(WORKER, "two"))

    assert foregrounds.seen(db, WORKER, "here") == one
    assert missed(db, "here") == ["two"]


def test_of_very_many_the_last_are_shown_and_the_others_counted(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    for number in range(5):
        say(db, journal, str(number))

    found = foregrounds.missed(db, WORKER, after=0, last=2)

    assert [turn.answer for turn in found.turns] == ["3", "4"]
    assert found.omitted == 3


class Desk:
    """The operations, as somebody asks for them."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self.database = database
        self.journal = journal
        # Of a house, these operations need no more than this.
        needed = {"database": database, "journal": journal, "agents": AGENTS}
        every: dict[str, Any] = {
            each.name: None for each in fields(Context) if each.default_factory is MISSING
        }
        self._house = Context(**{**every, **needed, "settings": Settings()})

    async def ask(
        self, name: str, *, by: Identity = PERSON, key: str = "", **words: object
    ) -> Any:  # noqa: ANN401 - what it answers
        (operation,) = (each for each in OPERATIONS if each.name == name)
        return await ask(self._house, operation, operation.asks(**words), identity=by, key=key)

    async def say(self, words: str) -> int:
        return await self.database.write(partial(say, journal=self.journal, words=words))

    async def missed(self) -> list[str]:
        found = await self.ask("foreground", session=WORKER)
        return [turn.answer for turn in found.missed]


@pytest.fixture
async def desk(database: ObservedDatabase, clock: FakeClock) -> Desk:
    journal = Journal("here", clock, readers={})
    await database.write(partial(settle_in, journal=journal))
    return Desk(database, journal)


@pytest.mark.anyio
async def test_who_comes_back_gets_exactly_what_was_missed(desk: Desk) -> None:
    await desk.say("one")
    first = await desk.ask("foreground", session=WORKER)
    shown = await desk.ask("shown", session=WORKER, seen=first.missed[-1].number)
    put = await desk.ask("background", session=WORKER)
    await desk.say("two")
    await desk.say("three")

    again = await desk.ask("foreground", session=WORKER)

    assert (first.is_new, [turn.answer for turn in first.missed]) == (True, ["one"])
    assert shown.following is None
    assert put.was_in_front is True
    assert (again.is_new, [turn.answer for turn in again.missed]) == (True, ["two", "three"])
    assert (again.seen, again.omitted) == (shown.seen, 0)


@pytest.mark.anyio
async def test_what_was_not_said_to_be_shown_is_shown_again(desk: Desk) -> None:
    one = await desk.say("one")
    await desk.say("two")

    assert [await desk.missed() for _ in "ab"] == [["one", "two"]] * 2
    shown = await desk.ask("shown", session=WORKER, seen=one)
    assert shown.following.answer == "two"
    assert await desk.missed() == ["two"]


@pytest.mark.anyio
async def test_two_who_show_the_same_both_hear_of_the_next(desk: Desk) -> None:
    one, two = [await desk.say(words) for words in ("one", "two")]

    quick = await desk.ask("shown", session=WORKER, seen=two)
    slow = await desk.ask("shown", session=WORKER, seen=one)

    assert quick.following is None
    assert slow.following.number == two
    assert await desk.missed() == []


@pytest.mark.anyio
async def test_a_turn_that_runs_is_no_miss(desk: Desk) -> None:
    start = partial(desk.journal.append)
    number = await desk.database.write(lambda db: start(db, TurnStarted(WORKER, "go")))

    found = await desk.ask("foreground", session=WORKER)

    assert found.missed == []
    assert [(turn.number, turn.prompt) for turn in found.running] == [(number, "go")]
    assert found.session.activity == "working"
    assert found.as_of == number + 1  # that it came to the foreground


@pytest.mark.anyio
async def test_coming_and_going_are_facts_and_twice_is_none(desk: Desk) -> None:
    before = len(await desk.database.read(kinds))
    for _ in "ab":
        await desk.ask("foreground", session=WORKER)
    fronts = (await desk.ask("foregrounds")).foregrounds
    puts = [(await desk.ask("background", session=WORKER)).was_in_front for _ in "ab"]

    assert [each.session for each in fronts] == [WORKER]
    assert puts == [True, False]
    assert (await desk.ask("foregrounds")).foregrounds == []
    told = (await desk.database.read(kinds))[before:]
    assert told == ["foreground-entered", "foreground-left"]


@pytest.mark.anyio
async def test_under_a_key_it_answers_what_it_answered(desk: Desk) -> None:
    answers = [await desk.ask("foreground", session=WORKER, key="k") for _ in "ab"]

    assert answers[0].is_new is True
    assert answers[1] == answers[0]


@pytest.mark.anyio
async def test_how_far_it_was_shown_may_be_said_with_either(desk: Desk) -> None:
    one, two = [await desk.say(words) for words in ("one", "two")]

    found = await desk.ask("foreground", session=WORKER, seen=one)
    await desk.ask("background", session=WORKER, seen=two)

    assert [turn.answer for turn in found.missed] == ["two"]
    assert await desk.missed() == []


@pytest.mark.anyio
async def test_it_is_all_true_for_the_next_daemon(tmp_path: Path, clock: FakeClock) -> None:
    journal, file = Journal("here", clock, readers={}), tmp_path / "kept.db"
    async with Database(file, FakeClock()) as database:
        await database.write(partial(settle_in, journal=journal))
        desk = Desk(database, journal)
        one = await desk.say("one")
        await desk.say("two")
        await desk.ask("foreground", session=WORKER)
        await desk.ask("shown", session=WORKER, seen=one)

    async with Database(file, FakeClock()) as database:
        desk = Desk(database, journal)
        found = await desk.ask("foreground", session=WORKER)

    assert (found.is_new, [turn.answer for turn in found.missed]) == (False, ["two"])


@pytest.mark.anyio
async def test_the_last_words_of_one_that_is_over_can_still_be_shown(desk: Desk) -> None:
    await desk.say("bye")
    await desk.database.write(lambda db: desk.journal.append(db, SessionEnded(WORKER, "exit")))

    assert await desk.missed() == ["bye"]
    # It says nothing more: nobody has to put it back.
    found = await desk.ask("foregrounds")
    assert found.foregrounds == []


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["foreground", "shown", "background", "foregrounds"])
async def test_another_channel_is_refused_with_those_that_there_are(
    desk: Desk, name: str
) -> None:
    words: dict[str, Any] = {} if name == "foregrounds" else {"session": WORKER}
    words |= {"seen": 0} if name == "shown" else {}

    with pytest.raises(BadInput, match="unknown channel 'telegram'; known: terminal"):
        await desk.ask(name, channel="telegram", **words)


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_a_session_brings_its_family_only(desk: Desk) -> None:
    child = SessionId("child")
    grown = make(desk.journal, child, parent=ANNA)
    await desk.database.write(lambda db: sessions.add(db, grown))
    anna = Identity(Scope.SESSION, "unix", ANNA)

    brought = await desk.ask("foreground", session=child, by=anna)
    await desk.ask("foreground", session=BERT)

    assert brought.is_new is True
    for name in ("foreground", "background"):
        with pytest.raises(Forbidden, match="not in the caller's family"):
            await desk.ask(name, session=BERT, by=anna)
    listed = (await desk.ask("foregrounds", by=anna)).foregrounds
    assert [each.session for each in listed] == [child]


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_a_session_may_bring_a_plain_program_too(desk: Desk) -> None:
    shell = make(desk.journal, "shell", agent="shell", parent=ANNA)
    await desk.database.write(lambda db: sessions.add(db, shell))

    found = await desk.ask(
        "foreground", session="shell", by=Identity(Scope.SESSION, "unix", ANNA)
    )

    assert found.is_new is True


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_no_session_takes_away_what_its_person_has_brought(desk: Desk) -> None:
    worker = Identity(Scope.SESSION, "unix", WORKER)
    await desk.ask("foreground", session=WORKER, by=worker)
    first = await desk.ask("background", session=WORKER, by=worker)
    await desk.ask("foreground", session=WORKER, by=worker)
    await desk.ask("foreground", session=WORKER)

    with pytest.raises(Forbidden, match="a person has brought it"):
        await desk.ask("background", session=WORKER, by=worker)

    assert first.was_in_front is True
    assert (await desk.ask("background", session=WORKER)).was_in_front is True


@pytest.mark.anyio
async def test_to_look_whether_it_is_there_brings_nothing(desk: Desk) -> None:
    nobody = await desk.ask("foreground", session=WORKER, brings=False)
    await desk.ask("foreground", session=WORKER)
    somebody = await desk.ask("foreground", session=WORKER, brings=False)

    assert (nobody.is_there, nobody.is_new) == (False, False)
    assert (somebody.is_there, somebody.is_new) == (True, False)
    told = await desk.database.read(kinds)
    assert told.count("foreground-entered") == 1


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_no_session_says_what_its_person_has_seen(desk: Desk) -> None:
    one = await desk.say("one")
    worker = Identity(Scope.SESSION, "unix", WORKER)

    for name in ("foreground", "shown", "background"):
        with pytest.raises(Forbidden):
            await desk.ask(name, session=WORKER, seen=one, by=worker)

    assert await desk.missed() == ["one"]


@pytest.mark.anyio
@pytest.mark.spec("K5")
async def test_a_reader_brings_nothing(desk: Desk) -> None:
    for name in ("foreground", "background"):
        with pytest.raises(Forbidden, match="reader"):
            await desk.ask(name, session=WORKER, by=READER)

    assert (await desk.ask("foregrounds", by=READER)).foregrounds == []
