from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

import pytest
from msgspec import structs

from rookery.model.facts import (
    Fact,
    InputAsked,
    SessionEnded,
    ToolUsed,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from rookery.model.messages import MessageId, Words
from rookery.model.sessions import Turn
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import message_batches, turn_changes, turns
from rookery.store import sessions as known
from rookery.store.journal import Journal
from rookery.tracking import stop_hooks
from tests.support.facts import FACTS
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, WORKER, settle_in


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def all_of(db: Connection) -> list[tuple[str, str, str]]:
    found = turns.of_session(db, WORKER, last=100)
    return [(turn.prompt, turn.answer, turn.how) for turn in found]


def send(db: Connection, journal: Journal, words: str) -> MessageId:
    message = commands.send(
        db, journal, speaker=MessageSender("person"), recipient=WORKER, words=Words(words, 0)
    )
    message_batches.claim(db, WORKER, journal.clock.now())
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


@pytest.mark.spec("A6")
def test_an_answer_is_not_that_of_a_refused_prompt_before(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "Touch it.", is_only_one=True))
    journal.append(db, InputAsked(WORKER, "permission", "May it?"))

    journal.append(db, TurnStarted(WORKER, "Read it.", is_only_one=True))
    journal.append(db, TurnEnded(WORKER, "Read."))

    assert all_of(db) == [("Touch it.", "", "interrupted"), ("Read it.", "Read.", "finished")]


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

    ((_, _, ended),) = all_of(db)
    assert ended == how
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
        db, journal, speaker=MessageSender("person"), recipient=WORKER, words=Words("One.", 0)
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

    clock.advance(21)
    journal.append(db, TurnStarted(WORKER, "Build it."))

    assert [prompt for prompt, _, _ in all_of(db)] == ["", "Build it."]


# Which turn an answer belongs to, as agents with ids of their own tell it.


def begin(prompt: str, turn: str = "", *, resumes: bool = False) -> TurnStarted:
    return TurnStarted(WORKER, prompt, turn, resumes=resumes)


def activity(db: Connection) -> tuple[str, str, int]:
    session = known.get(db, WORKER)
    return str(session.activity), session.reason, session.background


@pytest.mark.spec("E7")
def test_a_prompt_typed_during_a_turn_is_answered_by_its_own_stop(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, begin("One.", "a"), begin("Two.", "a"))

    stop_hooks.write(db, journal, TurnEnded(WORKER, "First.", turn="a"), at=journal.clock.now())
    between = (all_of(db), activity(db))
    stop_hooks.write(
        db, journal, TurnEnded(WORKER, "Second.", turn="b"), at=journal.clock.now()
    )

    assert between == (
        [("One.", "First.", "finished"), ("Two.", "", "")],
        ("working", "", 0),
    )
    assert all_of(db) == [("One.", "First.", "finished"), ("Two.", "Second.", "finished")]
    assert activity(db) == ("idle", "", 0)


@pytest.mark.spec("E7")
@pytest.mark.parametrize("subagent", ["", "s1"])
def test_a_prompt_is_taken_into_a_turn_with_a_result_of_its_own_tools_only(
    db: Connection, journal: Journal, subagent: str
) -> None:
    journal.append(db, begin("One.", "a"), begin("Two.", "a"))
    journal.append(db, ToolUsed(WORKER, "Bash", subagent=subagent))

    stop_hooks.write(db, journal, TurnEnded(WORKER, "Both.", turn="a"), at=journal.clock.now())

    taken_in = not subagent
    assert all_of(db)[1] == (
        "Two.",
        "Both." if taken_in else "",
        "finished" if taken_in else "",
    )


@pytest.mark.spec("E7")
def test_a_paused_turn_goes_on_and_ends_with_the_report_of_its_subagents(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, begin("Delegate.", "a"))
    journal.append(db, TurnPaused(WORKER, "Delegated.", "a", subagents=2, commands=1))
    paused = activity(db)
    journal.append(db, begin("Beside.", "b"), TurnPaused(WORKER, "Yes.", "b", subagents=2))
    journal.append(db, begin("Part finished", "c", resumes=True))
    journal.append(db, TurnPaused(WORKER, "One to go.", "c", subagents=1))
    journal.append(db, begin("Part finished", "d", resumes=True))
    journal.append(db, TurnEnded(WORKER, "All done.", turn="d"))

    assert paused == ("working", "waits for 2 background subagents", 1)
    assert all_of(db) == [
        ("Delegate.", "All done.", "finished"),
        ("Beside.", "Yes.", "finished"),
    ]
    assert activity(db) == ("idle", "", 0)


@pytest.mark.spec("E7")
def test_what_a_subagent_asks_is_still_asked_after_a_stop_and_a_report(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, begin("Delegate.", "a"), InputAsked(WORKER, "permission", "May it?"))

    journal.append(db, TurnPaused(WORKER, "Delegated.", "a", subagents=2))
    journal.append(db, begin("Part finished", "b", resumes=True))

    assert activity(db) == ("permission", "May it?", 0)


@pytest.mark.spec("E7")
def test_the_report_of_a_command_is_a_turn_of_its_own(db: Connection, journal: Journal) -> None:
    journal.append(db, begin("Serve.", "a"), TurnEnded(WORKER, "Up.", turn="a", commands=2))
    left = activity(db)

    journal.append(db, begin("Command failed", "b", resumes=True))
    journal.append(db, TurnEnded(WORKER, "It fell over.", turn="b", commands=1))

    assert left == ("idle", "", 2)
    assert all_of(db)[1] == ("Command failed", "It fell over.", "finished")
    assert activity(db) == ("idle", "", 1)


@pytest.mark.spec("C3")
def test_a_stop_that_comes_after_the_next_prompt_answers_its_own_turn(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, begin("One.", "a"), TurnEnded(WORKER, "", "interrupted"))
    journal.append(db, begin("Two.", "b"))

    stop_hooks.write(db, journal, TurnEnded(WORKER, "First.", turn="a"), at=journal.clock.now())

    assert all_of(db) == [("One.", "First.", "finished"), ("Two.", "", "")]
    assert activity(db)[0] == "working"


@pytest.mark.spec("C3", "E7")
def test_a_stop_that_comes_once_more_ends_nothing(db: Connection, journal: Journal) -> None:
    journal.append(db, begin("One.", "a"), TurnEnded(WORKER, "First."))

    stop_hooks.write(db, journal, TurnEnded(WORKER, "First.", turn="a"), at=journal.clock.now())

    ended = "select count(*) from entries where kind = 'turn-ended'"
    assert db.execute(ended).fetchone()[0] == 1


@pytest.mark.spec("C8")
@pytest.mark.parametrize("words", ["", "Go on."])
def test_a_turn_that_was_seen_before_its_prompt_was_told_is_the_same_turn(
    db: Connection, journal: Journal, words: str
) -> None:
    journal.append(db, begin(words), begin("Go on.", "a"), TurnEnded(WORKER, "Yes.", turn="a"))

    assert all_of(db) == [("Go on.", "Yes.", "finished")]


@pytest.mark.spec("A1")
def test_the_origin_of_the_last_input_is_known(db: Connection, journal: Journal) -> None:
    journal.append(db, begin("Typed by hand."), TurnEnded(WORKER))
    typed = known.get(db, WORKER).last_input_origin
    send(db, journal, "Sent.")
    sent = known.get(db, WORKER).last_input_origin
    journal.append(db, TurnStarted(WORKER, "Sent."))

    assert (typed, sent) == ("terminal", "person")
    assert known.get(db, WORKER).last_input_origin == "person"


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_that_turns_do_not_follow_change_no_turn(
    db: Connection, journal: Journal, fact: Fact
) -> None:
    """The journal does not even show them to the turns."""
    if type(fact) in turn_changes.PROJECTED:
        return
    journal.append(db, begin("Go on."))
    before = [tuple(row) for row in db.execute("select * from turns")]
    about = structs.replace(fact, session=WORKER)

    turn_changes.project(db, about, turn_changes.FactContext(9, journal.clock.now()))

    assert [tuple(row) for row in db.execute("select * from turns")] == before
