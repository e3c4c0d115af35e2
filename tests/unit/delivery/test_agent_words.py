"""Words as agents ask for them: turns between two moments, and commands that go alone."""

from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest

from rookery.model.facts import TurnEnded, TurnStarted
from rookery.model.messages import Handling, Step, Words
from rookery.model.sessions import Turn
from rookery.operations.conversation_data import _tail
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import message_batches as stored_parcels
from rookery.store import turns
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import WORKER, settle_in


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def parcels(db: Connection, journal: Journal, *words: str) -> list[str]:
    """Send words; return the parcels in which they go, each once the one before has gone."""
    for each in words:
        given = Words(each, 0)
        commands.send(
            db, journal, speaker=MessageSender("person"), recipient=WORKER, words=given
        )
    found = []
    while parcel := stored_parcels.claim(db, WORKER, journal.clock.now()):
        stored_parcels.move(db, parcel, Step.UNSURE)
        found.append(parcel.words)
    return found


@pytest.mark.spec("I2", "E6")
def test_a_command_goes_alone_and_in_its_turn(db: Connection, journal: Journal) -> None:
    found = parcels(db, journal, "One.", "Two.", "/compact", "/clear", "Three.", "Four.")

    assert found == ["One.\n\nTwo.", "/compact", "/clear", "Three.\n\nFour."]


@pytest.mark.spec("E6")
def test_words_whose_sender_waits_for_the_answer_go_alone(
    db: Connection, journal: Journal
) -> None:
    for words, alone in [("A?", True), ("B?", True), ("One.", False), ("Two.", False)]:
        commands.send(
            db,
            journal,
            speaker=MessageSender("person"),
            recipient=WORKER,
            words=Words(words, 0),
            handling=Handling(alone=alone),
        )

    assert parcels(db, journal, "Three.") == ["A?", "B?", "One.\n\nTwo.\n\nThree."]


def turn_of(journal: Journal, db: Connection, clock: FakeClock, words: str) -> None:
    journal.append(db, TurnStarted(WORKER, words))
    clock.advance(10)
    journal.append(db, TurnEnded(WORKER, words))
    clock.advance(50)


@pytest.mark.spec("I2")
def test_turns_are_found_between_two_moments(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    began = clock.now()
    for words in ("first", "second", "third"):
        turn_of(journal, db, clock, words)
    journal.append(db, TurnStarted(WORKER, "runs"))

    def between(since: int | None, until: int | None) -> list[str]:
        moments = [
            None if each is None else began + timedelta(seconds=each) for each in (since, until)
        ]
        return [turn.prompt for turn in turns.between(db, WORKER, *moments, last=100)]

    assert between(None, None) == ["first", "second", "third", "runs"]
    assert between(65, None) == ["second", "third", "runs"]  # it went on then
    assert between(None, 65) == ["first", "second"]
    assert between(11, 59) == []
    assert between(5_000, None) == ["runs"]


@pytest.mark.spec("I2")
def test_where_there_is_little_room_the_end_is_kept(clock: FakeClock) -> None:
    asked = [Turn(n, f"ask {n}", f"answer {n}", clock.now(), clock.now()) for n in range(3)]

    first, last = _tail(asked, 20)

    assert (last.prompt, last.answer) == ("ask 2", "answer 2")
    assert first.answer == "(1 characters before) …nswer 1"
    assert first.prompt == "(5 characters before) …"
    assert _tail(asked, 10_000) == asked
