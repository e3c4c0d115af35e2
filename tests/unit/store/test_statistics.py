from __future__ import annotations

from collections.abc import Iterator
from sqlite3 import Connection
from typing import Any

import pytest

from rookery.model import facts
from rookery.model.facts import SessionId
from rookery.model.lifecycle import SessionState, advance
from rookery.store import retention, sessions, statistics
from rookery.store.journal import Journal, read_entry
from rookery.store.statistics import Selection
from tests.support.fakes.clock import FakeClock
from tests.support.rows import make
from tests.support.time_zones import time_zone


def work(db: Connection, journal: Journal, clock: FakeClock, name: str, **used: Any) -> None:  # noqa: ANN401 - of a fact
    session = SessionId(name)
    sessions.add(db, make(journal, name, agent=name[0]))
    journal.append(db, facts.SessionRequested(session, "person"))
    journal.append(db, facts.SessionStarted(session), facts.TurnStarted(session, "go"))
    clock.advance(60)
    journal.append(db, facts.TurnEnded(session), facts.UsageReported(session, **used))
    journal.append(db, facts.SessionEnded(session, "exit"))


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    with time_zone("UTC"):
        yield


@pytest.fixture
def busy(db: Connection, journal: Journal, clock: FakeClock) -> Connection:
    """Have sessions of two agents and of two days."""
    work(db, journal, clock, "a1", input_tokens=100, output_tokens=1)
    work(db, journal, clock, "a2", input_tokens=200, output_tokens=2, cost=2_000)
    clock.advance(86_400)
    work(db, journal, clock, "a3", input_tokens=300, output_tokens=3, cost=7_000)
    work(db, journal, clock, "a4", input_tokens=3_000, output_tokens=0, cost=1_000)
    work(db, journal, clock, "b1", input_tokens=400, output_tokens=4)
    late = SessionId("a1")
    journal.append(db, facts.UsageReported(late, input_tokens=50, output_tokens=5))
    return db


@pytest.mark.spec("A11", "G6")
def test_statistics_say_what_was_used_by_day_and_by_agent(busy: Connection) -> None:
    found = statistics.count(busy)

    assert (found.input_tokens, found.output_tokens, found.cost) == (4_050, 15, 10_000)
    assert found.tokens_by_agent == {"a": 3_661, "b": 404}
    assert found.tokens_by_day == {"2026-11-01": 303, "2026-11-02": 3_762}
    assert found.cost_by_agent == {"a": 10_000}
    assert found.cost_by_day == {"2026-11-01": 2_000, "2026-11-02": 8_000}
    assert found.most_expensive == statistics.Expense("a3", 303, 7_000, 0, 0.007)
    assert found.cost_usd == 0.01
    assert [(each.label, each.sessions, each.cost) for each in found.days] == [
        ("2026-11-01", 2, 2_000),
        ("2026-11-02", 3, 8_000),
    ]
    assert [(each.label, each.turns, each.cost_usd) for each in found.agents] == [
        ("a", 4, 0.01),
        ("b", 1, None),
    ]


@pytest.mark.spec("A11")
def test_statistics_of_some_days_or_of_one_agent_leave_out_the_rest(busy: Connection) -> None:
    late = statistics.count(busy, Selection(since="2026-11-02"))
    early = statistics.count(busy, Selection(agent="b"))

    assert (late.launched, late.by_status, late.cost) == (3, {"completed": 3}, 8_000)
    assert late.input_tokens == 3_750  # with what a session of the day before reported
    assert late.average_seconds == 60
    assert (early.launched, early.by_agent, early.input_tokens) == (1, {"b": 1}, 400)
    assert early.most_expensive == statistics.Expense("b1", 404, None, 0, None)


@pytest.mark.spec("A11")
def test_a_day_is_a_day_of_the_local_time_zone(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    with time_zone("Asia/Kolkata"):
        clock.advance(18.4 * 3_600)
        work(db, journal, clock, "a1", input_tokens=1, output_tokens=1)
        clock.advance(600)
        journal.append(db, facts.UsageReported(SessionId("a1"), 20, 2))
    with time_zone("America/New_York"):
        found = statistics.count(db)

    assert found.by_day == {"2026-11-01": 1}
    assert found.tokens_by_day == {"2026-11-01": 2, "2026-11-02": 22}


@pytest.mark.spec("G6")
def test_the_estimated_part_of_a_cost_is_known_also_after_a_deletion(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    work(db, journal, clock, "a1", input_tokens=1, output_tokens=1, cost=50, estimated=True)
    journal.append(db, facts.UsageReported(SessionId("a1"), 1, 1, 7))

    before = statistics.count(db)
    session = sessions.get(db, SessionId("a1"))
    retention.forget_sessions(db, keep=0)

    assert (before.cost, before.estimated_cost) == (57, 50)
    assert (session.cost, session.estimated_cost) == (57, 50)
    assert before.most_expensive == statistics.Expense("a1", 4, 57, 50, 0.000057)
    assert statistics.count(db) == before


@pytest.mark.spec("A11")
@pytest.mark.parametrize("keep", range(5))
def test_statistics_stay_the_same_when_sessions_are_forgotten(
    busy: Connection, keep: int
) -> None:
    before = statistics.count(busy)

    while retention.forget_sessions(busy, keep=keep):
        pass

    assert statistics.count(busy) == before


def test_without_any_cost_the_most_expensive_is_that_with_most_tokens(
    db: Connection, journal: Journal, clock: FakeClock
) -> None:
    nothing = statistics.count(db).most_expensive
    work(db, journal, clock, "a1", input_tokens=100, output_tokens=1)
    work(db, journal, clock, "b1", input_tokens=200, output_tokens=2)

    found = statistics.count(db)

    assert nothing is None
    assert found.most_expensive == statistics.Expense("b1", 202, None, 0, None)
    assert (found.cost, found.cost_by_agent) == (None, {})


@pytest.mark.spec("A11")
def test_a_recount_of_the_journal_comes_to_the_same(busy: Connection) -> None:
    retention.forget_sessions(busy, keep=2)
    told = [read_entry(row).fact for row in busy.execute("select * from entries order by seq")]

    found = statistics.count(busy)

    states: dict[SessionId, SessionState] = {}
    for fact in told:
        states[fact.session] = advance(states.get(fact.session, SessionState()), fact)
    reports = [fact for fact in told if isinstance(fact, facts.UsageReported)]
    assert found.launched == len(states)
    assert found.by_status == {"completed": sum(s.status.is_over for s in states.values())}
    assert found.turns == sum(isinstance(fact, facts.TurnStarted) for fact in told)
    assert found.input_tokens == sum(each.input_tokens for each in reports)
    assert found.output_tokens == sum(each.output_tokens for each in reports)
    assert found.cost == sum(each.cost or 0 for each in reports)
