"""Sessions as lists show them: what each does now, and what a person has seen of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.model.current_sessions import CurrentSession
from rookery.model.facts import (
    CallDecided,
    SessionEnded,
    ToolCalled,
    ToolUsed,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from rookery.model.permissions import DIALOG, Call
from rookery.store import current_sessions, notifications, requests, sessions, tool_calls
from rookery.store.journal import Journal
from rookery.store.requests import Asking
from tests.support.fakes.clock import FakeClock
from tests.support.rows import ANNA, BERT, WORKER, make, settle_in

pytestmark = pytest.mark.spec("I5", "C6")


@pytest.fixture(autouse=True)
def _settled(db: Connection, journal: Journal) -> None:
    settle_in(db, journal)


def view(db: Connection) -> CurrentSession:
    return current_sessions.get(db, WORKER, branches={})


def test_a_session_shows_its_tool_and_its_argument_while_the_tool_runs(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    journal.append(db, TurnStarted(WORKER, "Test it."))
    clock.advance(5)
    journal.append(db, ToolCalled(WORKER, "Bash", "npm test"))
    running, began = view(db), clock.now()
    clock.advance(40)
    journal.append(db, ToolUsed(WORKER, "Bash"))

    assert (running.last_tool, running.tool_argument) == ("Bash", "npm test")
    assert (running.tool_at, running.tool_ended_at) == (began, None)
    assert view(db).tool_ended_at == clock.now()
    assert view(db).last_activity_at == clock.now()


def test_the_end_of_another_tool_does_not_end_the_last_one(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, ToolCalled(WORKER, "Read", "a.py"), ToolCalled(WORKER, "Bash", "make"))

    journal.append(db, ToolUsed(WORKER, "Read"))

    assert view(db).tool_ended_at is None


def test_a_denied_tool_does_not_run(db: Connection, journal: Journal) -> None:
    journal.append(db, ToolCalled(WORKER, "Bash", "rm -r x"))

    journal.append(db, CallDecided(WORKER, "Bash", "deny", "person"))

    assert view(db).tool_ended_at is not None


def test_a_session_shows_the_first_lines_of_its_last_prompt_and_answer(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "One."), TurnEnded(WORKER, "First."))
    journal.append(db, TurnStarted(WORKER, "Two."), TurnEnded(WORKER, "\n All done. \nMore."))
    number = journal.append(db, TurnStarted(WORKER, "\nThree,\nplease."))

    now = view(db)

    assert (now.last_turn, now.last_prompt) == (number, "Three,")
    assert (now.last_answer, now.last_outcome) == ("All done.", "finished")


def test_an_answer_is_unread_until_it_was_shown(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    journal.append(db, TurnStarted(WORKER, "One."), TurnEnded(WORKER, "First."))
    before = view(db)
    assert before.last_answer_at
    current_sessions.mark_seen(db, WORKER, until=before.last_answer_at)
    shown = view(db)
    clock.advance(1)
    journal.append(db, TurnStarted(WORKER, "Two."), TurnEnded(WORKER, "Second."))
    later = view(db)
    current_sessions.mark_seen(db, WORKER, until=clock.now())
    current_sessions.mark_seen(db, WORKER, until=before.last_answer_at)  # it moves forward only

    assert [before.is_unread, shown.is_unread, later.is_unread] == [True, False, True]
    assert not view(db).is_unread


def test_a_turn_that_was_shown_as_it_happened_is_read(db: Connection, journal: Journal) -> None:
    number = journal.append(db, TurnStarted(WORKER, "One."))
    journal.append(db, TurnEnded(WORKER, "First."))
    current_sessions.mark_turn_seen(db, WORKER, turn=0)
    before = view(db)

    current_sessions.mark_turn_seen(db, WORKER, turn=number)

    assert [before.is_unread, view(db).is_unread] == [True, False]


@pytest.mark.parametrize("turn", ["running", "absent"])
def test_a_turn_without_an_answer_is_not_seen(
    db: Connection, journal: Journal, turn: str
) -> None:
    number = journal.append(db, TurnStarted(WORKER, "go"))

    current_sessions.mark_turn_seen(db, WORKER, turn=number + (turn == "absent"))

    assert view(db).seen_at is None


def test_an_interrupted_turn_without_an_answer_is_not_unread(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, TurnStarted(WORKER, "One."), TurnEnded(WORKER, "", "interrupted"))

    assert (view(db).is_unread, view(db).last_outcome) == (False, "interrupted")


def test_a_session_shows_the_oldest_call_that_it_asks_about(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    for command in ("rm -r a", "rm -r b"):
        call = Call("Bash", {"command": command}, folder="/elsewhere")
        requests.add(db, WORKER, call, Asking(clock.now(), None, None))
        clock.advance(1)

    now = view(db)

    asked = (now.asked_tool, now.asked_argument, now.asked_folder)
    assert asked == ("Bash", "rm -r a", "/elsewhere")


def test_a_dialog_that_only_the_screen_shows_names_no_tool(
    db: Connection, clock: FakeClock
) -> None:
    call = Call(DIALOG, {"text": "Trust it?"}, shown="permission")
    requests.add(db, WORKER, call, Asking(clock.now(), None, None, "screen"))

    assert view(db).asked_tool == ""


def test_cost_has_its_unit_in_its_name(db: Connection, journal: Journal) -> None:
    journal.append(db, UsageReported(WORKER, 10, 5, 35_607))

    assert (view(db).cost, view(db).cost_usd) == (35_607, 0.035607)
    assert (view(db).estimated_cost_usd, view(db).budget_usd) == (0, None)


@pytest.mark.spec("A10")
def test_a_budget_has_its_unit_in_its_name(db: Connection) -> None:
    db.execute("update sessions set budget = 2500000, cost = 3, estimated_cost = 2")

    assert (view(db).budget, view(db).budget_usd) == (2_500_000, 2.5)
    assert view(db).estimated_cost_usd == 0.000002


def test_the_first_lines_of_a_prompt_and_an_answer_are_kept_whole(
    db: Connection, journal: Journal
) -> None:
    long = "x" * 5_000
    journal.append(db, TurnStarted(WORKER, f"{long}\nand more"))
    journal.append(db, TurnEnded(WORKER, f"{long}\nand more"))

    assert (view(db).last_prompt, view(db).last_answer) == (long, long)


def test_a_list_has_branches_and_knows_what_was_resumed(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    journal.append(db, SessionEnded(ANNA, "gone", "failed"))
    sessions.add(db, make(journal, "later", continues=ANNA, project_path="/code"))
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)

    listed = current_sessions.listed(
        db, ended_after=long_ago, recently=clock.now(), branches={"/code": "main"}
    )

    known: dict[str, Any] = {each.id: (each.branch, each.is_resumed) for each in listed}
    assert known == {
        ANNA: ("", True),
        BERT: ("", False),
        WORKER: ("", False),
        "later": ("main", False),
    }
    assert current_sessions.live_folders(db) == ["/code"]
    assert [each.id for each in current_sessions.of_ids(db, [BERT], branches={})] == [BERT]


def test_tool_calls_are_listed_by_turn_with_their_arguments(
    db: Connection, journal: Journal
) -> None:
    first = journal.append(db, TurnStarted(WORKER, "One."))
    journal.append(db, ToolCalled(WORKER, "Read", "a.py"), ToolCalled(BERT, "Bash", "ls"))
    journal.append(db, TurnEnded(WORKER, "First."))
    second = journal.append(db, TurnStarted(WORKER, "Two."))
    journal.append(db, ToolCalled(WORKER, "Bash", "make"), ToolCalled(WORKER, "Bash", "ls"))

    calls = tool_calls.since(db, WORKER, turn=first, limit=10)

    assert [(each.turn, each.tool, each.argument) for each in calls] == [
        (first, "Read", "a.py"),
        (second, "Bash", "make"),
        (second, "Bash", "ls"),
    ]
    assert [each.argument for each in tool_calls.since(db, WORKER, turn=second, limit=1)] == [
        "ls"
    ]


def test_a_tool_call_of_an_earlier_version_has_no_argument(
    db: Connection, journal: Journal
) -> None:
    journal.append(db, ToolCalled(WORKER, "Bash", "make"))
    db.execute(
        """update entries set body = '{"session":"worker","tool":"Bash"}'
        where kind = 'tool-called'"""
    )

    (call,) = tool_calls.since(db, WORKER, turn=0, limit=10)

    assert (call.tool, call.argument, call.turn) == ("Bash", "", 0)


def test_sessions_that_ended_long_ago_come_without_their_turns(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    for session in (ANNA, BERT):
        journal.append(db, TurnStarted(session, "One."), TurnEnded(session, "Done."))
        journal.append(db, SessionEnded(session, "gone"))
        clock.advance(3_600)
    long_ago, an_hour_ago = datetime(2000, 1, 1, tzinfo=UTC), clock.now() - timedelta(hours=1)

    listed = current_sessions.listed(
        db, ended_after=long_ago, recently=an_hour_ago - timedelta(1e-5), branches={}
    )

    told = {each.id: each.last_answer for each in listed if each.ended_at}
    assert told == {ANNA: "", BERT: "Done."}


@pytest.mark.parametrize(("launch", "is_resumed"), [({"forks": "x"}, False), ({}, True)])
def test_a_failure_is_dealt_with_once_its_conversation_is_resumed_not_branched(
    db: Connection, journal: Journal, clock: FakeClock, launch: dict[str, str], is_resumed: bool
) -> None:
    journal.append(db, SessionEnded(WORKER, "it crashed", "failed"))
    now = clock.now()
    count = partial(
        notifications.count_sessions,
        db,
        now=now,
        ended_after=now - timedelta(hours=1),
        among=None,
    )
    before = count().failed

    later = make(journal, "later", continues=WORKER)
    sessions.add(db, later, launch=launch)

    assert view(db).is_resumed is is_resumed
    assert (before, count().failed) == (1, 0 if is_resumed else 1)
