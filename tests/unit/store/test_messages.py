from __future__ import annotations

from dataclasses import replace
from sqlite3 import Connection, IntegrityError

import pytest

from rookery.model.actors import Actor
from rookery.model.facts import Outcome, SessionEnded, SessionId, TurnEnded, TurnStarted
from rookery.model.messages import Message, MessageId, Origin, Parcel, Step, Words
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import message_batches, messages, sessions
from rookery.store.journal import Journal
from tests.support.rows import ANNA, BERT, WORKER, settle_in
from tests.support.waiting import steps, waits_for

DRAFT = Obstacle(BlockedReason.DRAFT, "a draft.")


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def send(
    db: Connection, journal: Journal, words: str, recipient: SessionId = WORKER
) -> MessageId:
    return commands.send(
        db, journal, speaker=MessageSender("person"), recipient=recipient, words=Words(words, 0)
    )


def claim(db: Connection, journal: Journal, words: str) -> Parcel:
    send(db, journal, words)
    parcel = message_batches.claim(db, WORKER, journal.clock.now())
    assert parcel
    return parcel


@pytest.mark.spec("B2")
@pytest.mark.parametrize("step", [Step.SENDING, Step.PASTED, Step.SUBMITTED, Step.UNSURE])
def test_the_agents_own_prompt_is_proof_however_far_we_thought_we_were(
    db: Connection, journal: Journal, step: Step
) -> None:
    parcel = claim(db, journal, "Build it.")
    message_batches.move(db, parcel, step)

    journal.append(db, TurnStarted(WORKER, "Build it."))

    assert steps(db) == ["acknowledged"]


def test_blanks_that_a_terminal_flowed_anew_are_no_difference(
    db: Connection, journal: Journal
) -> None:
    claim(db, journal, "Build it,\n\nand  test it.")

    journal.append(db, TurnStarted(WORKER, "Build it, and test\nit.\n"))

    assert steps(db) == ["acknowledged"]


def test_a_proof_that_overtakes_the_courier_stands(db: Connection, journal: Journal) -> None:
    parcel = claim(db, journal, "Build it.")
    journal.append(db, TurnStarted(WORKER, "Build it."))

    assert not message_batches.move(db, parcel, Step.SUBMITTED)
    assert steps(db) == ["acknowledged"]


def test_other_words_are_no_proof(db: Connection, journal: Journal) -> None:
    claim(db, journal, "Build it.")

    journal.append(db, TurnStarted(WORKER, "Build it. And test it."))

    assert steps(db) == ["sending"]


def test_words_that_another_session_heard_are_no_proof(
    db: Connection, journal: Journal
) -> None:
    claim(db, journal, "Build it.")

    journal.append(db, TurnStarted(ANNA, "Build it."))

    assert steps(db) == ["sending"]


def test_words_said_again_are_proof_of_the_newer_parcel(
    db: Connection, journal: Journal
) -> None:
    message_batches.move(db, claim(db, journal, "Go on."), Step.UNSURE)
    claim(db, journal, "Go on.")

    journal.append(db, TurnStarted(WORKER, "Go on."))

    assert steps(db) == ["unsure", "acknowledged"]


@pytest.mark.spec("E6")
def test_all_that_waits_goes_as_one(db: Connection, journal: Journal) -> None:
    first = send(db, journal, "One.")
    parcel = claim(db, journal, "Two.")

    assert (parcel.id, parcel.words) == (first, "One.\n\nTwo.")
    journal.append(db, TurnStarted(WORKER, parcel.words))
    assert steps(db) == ["acknowledged", "acknowledged"]


@pytest.mark.spec("E6")
def test_one_session_never_has_two_parcels_under_way(db: Connection, journal: Journal) -> None:
    claim(db, journal, "One.")

    with pytest.raises(IntegrityError, match=r"messages\.recipient"):
        claim(db, journal, "Two.")


def test_a_parcel_is_taken_up_for_an_idle_session_only(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "Its person's own words"))
    send(db, journal, "Build it.")

    busy = message_batches.claim(db, WORKER, journal.clock.now())
    journal.append(db, TurnEnded(WORKER))
    idle = message_batches.claim(db, WORKER, journal.clock.now())

    assert busy is None
    assert idle


def test_who_is_idle_and_has_words_waiting_is_owed_them(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(ANNA, "Its person's own words"))
    send(db, journal, "Later.", recipient=ANNA)
    send(db, journal, "Now.", recipient=BERT)
    claim(db, journal, "On their way.")

    assert sorted(messages.owed(db)) == [BERT, WORKER]
    assert messages.is_owed(db, ANNA)


def test_a_settled_parcel_is_owed_to_nobody(db: Connection, journal: Journal) -> None:
    message_batches.move(db, claim(db, journal, "Build it."), Step.UNSURE)

    assert messages.owed(db) == []
    assert not messages.is_owed(db, WORKER)
    assert message_batches.under_way(db, WORKER) is None


@pytest.mark.spec("A8")
def test_nobody_carries_words_to_a_headless_session(db: Connection, journal: Journal) -> None:
    send(db, journal, "Build it.")

    db.execute("update sessions set runtime = 'headless' where id = ?", (WORKER,))

    assert messages.owed(db) == []
    assert steps(db) == ["pending"]


def test_what_was_put_back_waits_and_says_why(db: Connection, journal: Journal) -> None:
    parcel = claim(db, journal, "Build it.")

    assert message_batches.release(db, parcel)
    assert message_batches.note_blocked(db, parcel, DRAFT, text="not typed: a draft.")
    assert (steps(db), waits_for(db)) == (["pending"], ["not typed: a draft."])
    assert message_batches.claim(db, WORKER, journal.clock.now())


def test_what_may_have_been_pasted_cannot_be_put_back(db: Connection, journal: Journal) -> None:
    parcel = claim(db, journal, "Build it.")
    message_batches.move(db, parcel, Step.PASTED)

    assert not message_batches.release(db, parcel)
    assert steps(db) == ["pasted"]


def test_a_reason_to_wait_is_news_only_once(db: Connection, journal: Journal) -> None:
    parcel = claim(db, journal, "Build it.")
    message_batches.move(db, parcel, Step.PASTED)

    news = [message_batches.note_blocked(db, parcel, DRAFT, text=text) for text in "aaba"]

    assert news == [True, False, True, True]


def test_words_put_back_twice_for_the_same_reason_are_news_only_once(
    db: Connection, journal: Journal
) -> None:
    first = claim(db, journal, "Build it.")
    message_batches.release(db, first)
    message_batches.note_blocked(db, first, DRAFT, text="a draft")
    again = message_batches.claim(db, WORKER, journal.clock.now())
    assert again

    assert message_batches.release(db, again)
    assert not message_batches.note_blocked(db, again, DRAFT, text="a draft")


@pytest.mark.spec("B2")
def test_what_keeps_a_message_back_is_a_code_with_a_detail(
    db: Connection, journal: Journal
) -> None:
    message = send(db, journal, "Build it.")
    parcel = message_batches.claim(db, WORKER, journal.clock.now())
    assert parcel
    message_batches.note_blocked(db, parcel, DRAFT, text="not typed: a draft.")

    blocked = messages.get(db, message)
    message_batches.move(db, parcel, Step.SUBMITTED)
    submitted = messages.get(db, message)

    assert blocked
    assert submitted
    assert (blocked.blocked, blocked.obstacle) == (DRAFT, "a draft.")
    assert blocked.waits_for == "not typed: a draft."
    assert (submitted.blocked, submitted.waits_for, submitted.obstacle) == (None, "", "")


def test_words_that_can_never_leave_fail_and_say_why(db: Connection, journal: Journal) -> None:
    message = send(db, journal, "One\nTwo")
    parcel = message_batches.claim(db, WORKER, journal.clock.now())
    assert parcel

    message_batches.fail(db, parcel, reason="one line at a time")

    found = messages.get(db, message)
    assert found
    assert (found.step, found.waits_for) == (Step.FAILED, "one line at a time")


@pytest.mark.spec("K3")
def test_words_that_were_certainly_not_taken_fail_also_after_the_end_of_the_session(
    db: Connection, journal: Journal
) -> None:
    parcel = claim(db, journal, "Behind the last turn.")
    message_batches.move(db, parcel, Step.PASTED)
    journal.append(db, SessionEnded(WORKER, "its only turn is over", "completed"))
    assert steps(db) == ["unsure"]

    assert message_batches.fail(db, parcel, reason="the session ends.")

    assert steps(db) == ["failed"]


@pytest.mark.spec("E6")
def test_at_the_end_of_a_session_what_waited_failed_and_what_left_is_unsure(
    db: Connection, journal: Journal
) -> None:
    message_batches.move(db, claim(db, journal, "On its way."), Step.PASTED)
    send(db, journal, "Still waiting.")

    journal.append(db, SessionEnded(WORKER, "exit"))

    assert steps(db) == ["unsure", "failed"]


@pytest.mark.spec("E6")
@pytest.mark.parametrize(
    ("words", "outcome", "step"),
    [
        ("/exit", "completed", "acknowledged"),
        ("/exit", "failed", "unsure"),
        ("Leave now.", "completed", "unsure"),
    ],
)
def test_a_command_was_taken_if_the_program_then_ended_by_itself(
    db: Connection, journal: Journal, words: str, outcome: Outcome, step: str
) -> None:
    message_batches.move(db, claim(db, journal, words), Step.SUBMITTED)

    journal.append(db, SessionEnded(WORKER, "it ended", outcome))

    assert steps(db) == [step]


@pytest.mark.spec("E6", "B2")
def test_a_message_that_was_claimed_and_not_typed_fails_with_its_session(
    db: Connection, journal: Journal
) -> None:
    claim(db, journal, "Never typed.")

    journal.append(db, SessionEnded(WORKER, "exit"))

    assert steps(db) == ["failed"]


def test_a_receipt_tells_how_many_characters_were_taken_out(
    db: Connection, journal: Journal
) -> None:
    words = Words("Build it.", removed=3)
    message = commands.send(
        db, journal, speaker=MessageSender("person"), recipient=WORKER, words=words
    )

    found = messages.get(db, message)

    assert found
    assert replace(found, id=MessageId(0)) == Message(
        id=MessageId(0), recipient=WORKER, step=Step.PENDING, removed=3
    )
    assert messages.get(db, MessageId(999)) is None


@pytest.mark.spec("B2")
def test_what_waits_for_a_program_that_takes_lines_is_taken_up_one_by_one(
    db: Connection, journal: Journal
) -> None:
    for words in ("ls", "pwd", "/id"):
        send(db, journal, words)

    taken = []
    for _ in range(3):
        parcel = message_batches.claim(db, WORKER, journal.clock.now(), alone=True)
        assert parcel
        taken.append(parcel.words)
        journal.append(db, TurnStarted(WORKER, parcel.words), TurnEnded(WORKER))

    assert taken == ["ls", "pwd", "/id"]


@pytest.mark.spec("B2")
def test_only_what_we_have_put_together_ourselves_may_be_folded(
    db: Connection, journal: Journal
) -> None:
    person = claim(db, journal, "one\ntwo")
    relayed = Origin(Actor.read("relay r"), 1, relay="r")
    messages.add(db, ANNA, Words("[bert] (2):\n\nhello", 0), relayed)
    spoken = MessageSender(f"session {ANNA}", ANNA)
    commands.send(db, journal, speaker=spoken, recipient=BERT, words=Words("hello", 0))

    found = [message_batches.claim(db, each, journal.clock.now()) for each in (ANNA, BERT)]

    assert not person.is_composed
    assert [parcel and parcel.is_composed for parcel in found] == [True, True]


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    ("author", "shown"),
    [("listeners", "rookery"), ("relays r1", "rookery"), ("person", "person")],
)
def test_news_of_rookery_are_its_own_input_and_words_their_authors(
    db: Connection, author: str, shown: str
) -> None:
    for cause in (1, 2):  # also where the last input was the same
        number = messages.add(db, ANNA, Words("News.", 0), Origin(Actor.read(author), cause))
        said = messages.get(db, number)

        assert said
        assert said.recipient == ANNA
        assert sessions.get(db, ANNA).last_input_origin == shown
