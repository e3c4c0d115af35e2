from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from sqlite3 import Connection

import pytest

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.model.messages import MessageId, Step, Words
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import Badge, NativeId, Sender
from rookery.operations.maintenance import find_trouble
from rookery.sessions import commands
from rookery.sessions.commands import MessageSender
from rookery.store import (
    dialogs,
    message_batches,
    messages,
    retention,
    session_bindings,
    sessions,
    turns,
)
from rookery.store.answered_commands import Key, once
from rookery.store.journal import Journal
from tests.support.rows import ANNA, WORKER, make, settle_in

#: A scan of what only ever grows. An index of what is open now is short.
GROWING = re.compile(
    r"SCAN (messages|entries|turns|hooks|commands|blocks)"
    r"(?!.* (one_parcel_under_way|messages_unproved|turns_open))"
)

SENDER = Sender("demo", NativeId("n1"), "/", "Stop")


def test_no_question_reads_all_there_ever_was(db: Connection, journal: Journal) -> None:
    asked: set[str] = set()
    now = journal.clock.now()
    settle_in(db, journal)

    db.set_trace_callback(asked.add)
    message = send(db, journal)
    messages.owed(db)
    messages.is_owed(db, WORKER)
    parcel = message_batches.claim(db, WORKER, now)
    assert parcel
    message_batches.release(db, parcel)
    message_batches.note_blocked(
        db, parcel, Obstacle(BlockedReason.DRAFT, "a draft"), text="a draft"
    )
    message_batches.claim(db, WORKER, now)
    message_batches.move(db, parcel, Step.PASTED)
    journal.append(db, facts.TurnStarted(WORKER, "Build it."), facts.TurnEnded(WORKER))
    turns.of_message(db, message)
    turns.of_session(db, WORKER, last=10)
    turns.count_ended(db, WORKER)
    session_bindings.known(db, SENDER)
    session_bindings.bind(db, Badge("b"), SENDER)
    journal.append(db, facts.EndRequested(WORKER, "x"), facts.SessionEnded(WORKER, "exit"))
    once(db, Key("k", "o", "d"), lambda _: "", now)
    retention.forget_aged(db, before=now - timedelta(days=1))
    retention.forget_sessions(db, keep=0)
    db.set_trace_callback(None)

    questions = {each for each in asked if each.startswith(("select", "update", "delete"))}
    assert len(questions) > 20
    for question in questions:
        plan = [row["detail"] for row in db.execute(f"explain query plan {question}")]
        assert not [step for step in plan if GROWING.match(step)], question


def send(db: Connection, journal: Journal) -> MessageId:
    words = Words("Build it.", 0)
    return commands.send(
        db, journal, speaker=MessageSender("person"), recipient=WORKER, words=words
    )


def claim(db: Connection, journal: Journal) -> None:
    send(db, journal)
    message_batches.claim(db, WORKER, journal.clock.now())


def look_under_way(db: Connection, journal: Journal) -> None:
    message_batches.under_way(db, WORKER)


def look_who_is_owed(db: Connection, journal: Journal) -> None:
    messages.owed(db)


def begin_a_turn(db: Connection, journal: Journal) -> None:
    journal.append(db, facts.TurnStarted(WORKER, "Other words."))


def end_a_turn(db: Connection, journal: Journal) -> None:
    journal.append(db, facts.TurnEnded(WORKER, "Done."))


def look_who_is_in_care(db: Connection, journal: Journal) -> None:
    sessions.needing_supervision(db)


def look_who_lives(db: Connection, journal: Journal) -> None:
    sessions.live(db)


def find_a_sender(db: Connection, journal: Journal) -> None:
    session_bindings.known(db, SENDER)


def forget_nothing(db: Connection, journal: Journal) -> None:
    retention.forget_aged(db, before=journal.clock.now() - timedelta(days=1))


def look_for_trouble(db: Connection, journal: Journal) -> None:
    find_trouble(db)


@pytest.mark.parametrize(
    "work",
    [
        claim,
        look_under_way,
        look_who_is_owed,
        begin_a_turn,
        end_a_turn,
        look_who_is_in_care,
        look_who_lives,
        find_a_sender,
        forget_nothing,
        look_for_trouble,
    ],
)
def test_what_is_over_makes_nothing_slower(
    db: Connection, journal: Journal, work: Callable[[Connection, Journal], None]
) -> None:
    settle_in(db, journal)
    grow_old(db, journal, range(10))
    young = cost(db, lambda: work(db, journal))

    grow_old(db, journal, range(10, 300))

    assert cost(db, lambda: work(db, journal)) < 2 * young


@pytest.mark.spec("I4")
def test_who_waits_for_more_turns_does_not_count_the_old_ones_again(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    grow_old(db, journal, range(10))
    few = turns.count_settled(db, WORKER)
    for_few = cost(db, lambda: _count_another(db, journal, few))

    grow_old(db, journal, range(10, 300))
    many = turns.count_settled(db, WORKER)
    for_many = cost(db, lambda: _count_another(db, journal, many))

    assert for_many < 2 * for_few


def test_answered_requests_do_not_slow_down_the_hooks_of_their_session(
    db: Connection, journal: Journal
) -> None:
    settle_in(db, journal)
    look = partial(dialogs.is_asked_by_subagent, db, WORKER)
    young = cost(db, look)

    for number in range(300):
        db.execute(
            "insert into requests (id, session, kind, tool, input, message, digest, asked_at,"
            " hook, outcome, answered_at)"
            " values (?1, ?2, 'permission', 'Bash', '{}', '', '', '', ?1, 'allowed', '')",
            (f"r{number}", WORKER),
        )

    assert cost(db, look) < 2 * young


def _count_another(db: Connection, journal: Journal, counted: turns.CountedTurns) -> None:
    """Count the turns while one more runs, and after it."""
    before = turns.count_ended(db, WORKER, counted)
    journal.append(db, facts.TurnStarted(WORKER, "Build it."))
    meanwhile = turns.count_ended(db, WORKER, counted)
    journal.append(db, facts.TurnEnded(WORKER))
    after = turns.count_ended(db, WORKER, counted)
    assert (meanwhile - before, after - before) == (0, 1)
    assert before == counted.number


def grow_old(db: Connection, journal: Journal, numbers: range) -> None:
    """Let much happen that is over: words, turns, sessions."""
    journal.append(db, facts.TurnEnded(WORKER))
    for number in numbers:
        name = SessionId(f"old-{number}")
        sessions.add(db, make(journal, name))
        journal.append(db, facts.SessionEnded(name, "exit"))
        claim(db, journal)
        journal.append(db, facts.TurnStarted(WORKER, "Build it."), facts.TurnEnded(WORKER))
    assert message_batches.under_way(db, WORKER) is None
    assert turns.count_ended(db, WORKER) == numbers.stop
    assert turns.count_ended(db, ANNA) == 0


def cost(db: Connection, work: Callable[[], object]) -> int:
    """Count the steps that SQLite takes for some work, and undo it."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    db.execute("savepoint before")
    db.set_progress_handler(step, 1)
    work()
    db.set_progress_handler(None, 0)
    db.execute("rollback to before")
    return taken
