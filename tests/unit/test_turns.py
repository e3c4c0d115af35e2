from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery import sessions as commands
from rookery.model.facts import (
    Fact,
    SessionEnded,
    TurnEnded,
    TurnStarted,
)
from rookery.model.messages import MessageId, Words
from rookery.model.sessions import Turn
from rookery.sessions import Speaker
from rookery.store import messages, turns
from rookery.store.journal import Journal
from tests.fakes.clock import FakeClock
from tests.sessions import ANNA, WORKER, settle_in


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def all_of(db: Connection) -> list[tuple[str, str, str]]:
    found = turns.of_session(db, WORKER, last=100)
    return [(turn.prompt, turn.answer, turn.how) for turn in found]


def send(db: Connection, journal: Journal, words: str) -> MessageId:
    message = commands.send(
        db, journal, speaker=Speaker("person"), recipient=WORKER, words=Words(words, 0)
    )
    messages.take_up(db, WORKER, journal.clock.now())
    return message


def test_a_turn_goes_from_a_prompt_to_the_stop(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    began = clock.now()
    number = journal.append(db, TurnStarted(WORKER, "Build it."))
    clock.advance(5)

    journal.append(db, TurnEnded(WORKER, "Built."))

    (turn,) = turns.of_session(db, WORKER, last=10)
    ended = began + timedelta(seconds=5)
    assert turn == Turn(number, "Build it.", "Built.", began, ended, "finished")


def test_a_turn_that_runs_has_no_end(db: Connection, journal: Journal) -> None:
    journal.append(db, TurnStarted(WORKER, "Build it."))

    (turn,) = turns.of_session(db, WORKER, last=10)
    assert (turn.ended_at, turn.how) == (None, "")
    assert turns.count_ended(db, WORKER) == 0


@pytest.mark.parametrize(
    ("fact", "how"),
    [
        (TurnEnded(WORKER, "half", "interrupted"), "interrupted"),
        (TurnEnded(WORKER, "", "failed"), "failed"),
        (SessionEnded(WORKER, "exit"), "failed"),
    ],
)
def test_a_turn_remembers_how_it_ended(
    db: Connection, journal: Journal, fact: Fact, how: str
) -> None:
    journal.append(db, TurnStarted(WORKER, "Build it."), fact)

    ((_, _, known),) = all_of(db)
    assert known == how
    assert turns.count_ended(db, WORKER) == 1


def test_a_prompt_that_joins_a_running_turn_ends_with_it(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "One."), TurnStarted(WORKER, "Two."))

    journal.append(db, TurnEnded(WORKER, "Both."))

    assert all_of(db) == [("One.", "Both.", "finished"), ("Two.", "Both.", "finished")]


def test_a_stop_closes_no_turn_of_others_and_none_that_is_over(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "Build it."), TurnEnded(WORKER, "Built."))
    journal.append(db, TurnStarted(ANNA, "Plan it."))

    journal.append(db, TurnEnded(WORKER, "Late."))

    assert all_of(db) == [("Build it.", "Built.", "finished")]
    assert turns.count_ended(db, ANNA) == 0


def test_the_last_turns_come_oldest_first(db: Connection, journal: Journal) -> None:
    for prompt in ("One.", "Two.", "Three."):
        journal.append(db, TurnStarted(WORKER, prompt), TurnEnded(WORKER))

    assert [turn.prompt for turn in turns.of_session(db, WORKER, last=2)] == ["Two.", "Three."]


def test_a_message_finds_the_turn_that_took_it_up(db: Connection, journal: Journal) -> None:
    journal.append(db, TurnStarted(WORKER, "Its person's words"), TurnEnded(WORKER, "Hm."))
    message = send(db, journal, "Build it.")
    before = turns.of_message(db, message)

    journal.append(db, TurnStarted(WORKER, "Build it."), TurnEnded(WORKER, "Built."))

    turn = turns.of_message(db, message)
    assert before is None
    assert turn
    assert turn.answer == "Built."


def test_each_message_of_a_parcel_finds_the_same_turn(db: Connection, journal: Journal) -> None:
    first = commands.send(
        db, journal, speaker=Speaker("person"), recipient=WORKER, words=Words("One.", 0)
    )
    second = send(db, journal, "Two.")

    journal.append(db, TurnStarted(WORKER, "One.\n\nTwo."))

    assert turns.of_message(db, first) == turns.of_message(db, second) is not None


def test_a_long_prompt_and_a_long_answer_are_cut(db: Connection, journal: Journal) -> None:
    journal.append(db, TurnStarted(WORKER, "p" * 70_000), TurnEnded(WORKER, "a" * 70_000))

    ((prompt, answer, _),) = all_of(db)
    assert (len(prompt), len(answer)) == (64_000, 64_000)


@pytest.mark.spec("A2")
def test_a_late_prompt_leaves_no_turn_open(db: Connection, journal: Journal) -> None:
    journal.append(db, SessionEnded(WORKER, "killed", "failed"))

    journal.append(db, TurnStarted(WORKER, "Build it."))

    assert [turn for turn in turns.of_session(db, WORKER, last=10) if not turn.ended_at] == []


def test_words_that_are_told_a_moment_late_belong_to_the_turn_that_was_seen(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    message = send(db, journal, "Build it.")
    journal.append(db, TurnStarted(WORKER, ""))

    clock.advance(1)
    journal.append(db, TurnStarted(WORKER, "Build it."))
    journal.append(db, TurnEnded(WORKER, "Built."))

    assert all_of(db) == [("Build it.", "Built.", "finished")]
    turn = turns.of_message(db, message)
    assert turn
    assert turn.answer == "Built."


def test_words_that_come_later_are_another_turn(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    journal.append(db, TurnStarted(WORKER, ""))

    clock.advance(6)
    journal.append(db, TurnStarted(WORKER, "Build it."))

    assert [prompt for prompt, _, _ in all_of(db)] == ["", "Build it."]
