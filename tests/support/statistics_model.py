"""Random histories of sessions, and a recount of them that knows no table of the store."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import SessionState, advance
from rookery.model.sessions import Session
from rookery.store import counters, hook_calls, retention, sessions, statistics
from rookery.store.connections import open_for_writing
from rookery.store.journal import Journal
from tests.support.fakes.clock import FakeClock
from tests.support.rows import make

AGENTS = ("claude", "codex", "demo")
RUNTIMES = ("tmux", "tmux", "headless", "observed")
#: One of them has daylight saving time, which ends on the first day of the fake clock.
TIME_ZONES = ("UTC", "Asia/Kolkata", "America/New_York", "Pacific/Auckland")


class Told(NamedTuple):
    """A fact, and when it happened."""

    at: datetime
    fact: Fact


@dataclass(frozen=True, slots=True)
class Delivery:
    """Facts that arrive together under one key: as a hook call, or a slice of a stream."""

    key: str
    told: tuple[Told, ...]
    new: Session | None = None  #: the session that begins with it


class Killed(Exception):
    """The daemon was killed before it could commit."""


class History:
    """One random history, recorded by daemons that are killed again and again."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.clock = FakeClock()
        self.journal = Journal("here", self.clock, readers={})
        self.path = path
        self.db = self._open()
        self.recorded: list[Delivery] = []
        self.live: list[SessionId] = []
        self.known: list[SessionId] = []
        self.agents: dict[SessionId, Session] = {}
        self.kills = 0

    def run(self, deliveries: int) -> None:
        for _ in range(deliveries):
            self.clock.advance(self.random.choice((0, 1, 60, 3_600, 40_000)))
            self._record_once(self._make(f"key-{len(self.recorded)}"))
            if self.random.random() < 0.1:
                self._delete_old_sessions()
        self.db.close()
        self.db = self._open()

    def _open(self) -> Connection:
        db = open_for_writing(self.path, Connection)
        db.execute("pragma synchronous = off")  # only the process is killed, not the computer
        return db

    def _kill(self) -> None:
        """Open the file again: as after a kill, what was not committed is gone."""
        self.db.close()
        self.db = self._open()
        self.kills += 1

    def _record_once(self, delivery: Delivery) -> None:
        """Deliver until it is recorded, and sometimes again although it is."""
        is_recorded = False
        while not is_recorded or self.random.random() < 0.3:
            with suppress(Killed):
                self._record(delivery)
                is_recorded = True
            if self.random.random() < 0.3:
                self._kill()
        self.recorded.append(delivery)

    def _record(self, delivery: Delivery) -> None:
        self.db.execute("begin immediate")
        dies_after = self.random.choice((None, None, 0, 1, 2))
        if hook_calls.add(self.db, delivery.key, at=self.clock.now()):
            if delivery.new:
                sessions.add(self.db, delivery.new)
            for number, told in enumerate(delivery.told):
                if number == dies_after:
                    self._kill()
                    raise Killed
                self.journal.append(self.db, told.fact, at=told.at)
        self.db.commit()

    def _delete_old_sessions(self) -> None:
        keep = self.random.randrange(5)
        self.db.execute("begin immediate")
        retention.forget_sessions(self.db, keep=keep)
        if self.random.random() < 0.5:
            retention.forget_aged(self.db, before=self.clock.now() - timedelta(days=1))
        self.db.commit()
        self.known = [each for each in self.known if sessions.is_known(self.db, each)]

    def _make(self, key: str) -> Delivery:
        if not self.live or self.random.random() < 0.15:
            return self._begin(key)
        told, late = [], self.clock.now() - timedelta(hours=self.random.randrange(30))
        for _ in range(self.random.randrange(1, 4)):
            # Most reports are about live sessions; usage and a second end may come late.
            if self.random.random() < 0.9 and self.live:
                told.append(Told(self.clock.now(), self._happen(self.random.choice(self.live))))
                continue
            session = self.random.choice(self.known)
            told.append(Told(late, self._use(session)))
            if session not in self.live:
                told.append(Told(self.clock.now(), self._end(session)))
        return Delivery(key, tuple(told))

    def _begin(self, key: str) -> Delivery:
        name = f"s{len(self.agents)}"
        continues = self.random.choice([None, *self.known])
        runtime = self.random.choice(RUNTIMES)
        agent = self.random.choice(AGENTS)
        new = make(self.journal, name, agent=agent, runtime=runtime, continues=continues)
        self.live.append(new.id)
        self.known.append(new.id)
        self.agents[new.id] = new
        first: Fact = facts.SessionFound(new.id)
        if runtime == "tmux":
            first = facts.SessionRequested(new.id, "person")
        return Delivery(key, (Told(self.clock.now(), first),), new)

    def _happen(self, session: SessionId) -> Fact:
        turn = f"turn-{self.random.random()}"
        fact: Fact = self.random.choice(
            (
                facts.SessionStarted(session),
                facts.TurnStarted(session, "go", turn),
                facts.TurnEnded(session, "done", turn=turn),
                facts.ToolCalled(session, "Bash", "ls"),
                facts.InputAsked(session, "permission", "may it?"),
                facts.CallDecided(session, "Bash", "deny", "person"),
                facts.CallDecided(session, "Bash", "allow", "rules", rule="1"),
                facts.MessageWritten(session, "person"),
                facts.EndRequested(session, "person"),
                self._use(session),
                self._use(session),
                self._end(session),
            )
        )
        if isinstance(fact, facts.SessionEnded):
            self.live.remove(session)
        return fact

    def _end(self, session: SessionId) -> facts.SessionEnded:
        outcome: facts.Outcome = self.random.choice(("completed", "failed", "killed"))
        return facts.SessionEnded(session, "over", outcome)

    def _use(self, session: SessionId) -> facts.UsageReported:
        cost = self.random.choice((None, 0, self.random.randrange(1_000_000)))
        estimated = cost is not None and self.random.random() < 0.5
        tokens = self.random.randrange(10_000), self.random.randrange(1_000)
        return facts.UsageReported(session, *tokens, cost, estimated=estimated)


@dataclass(slots=True)
class Recount:
    """What a history comes to, counted fact by fact."""

    launched: Counter[tuple[str, str]] = field(default_factory=Counter)  #: by day and agent
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    turns: Counter[tuple[str, str]] = field(default_factory=Counter)
    input_tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    output_tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    cost: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    estimated: Counter[tuple[str, str]] = field(default_factory=Counter)
    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: dict[SessionId, SessionState] = field(default_factory=dict)
    created: dict[SessionId, datetime] = field(default_factory=dict)
    seconds: float = 0.0
    spent: dict[SessionId, tuple[int, int]] = field(default_factory=dict)  #: cost and tokens

    def add(self, told: Told, agent: str) -> None:
        at, fact = told
        place = (at.astimezone().date().isoformat(), agent)
        before = self.states.get(fact.session, SessionState())
        after = self.states[fact.session] = advance(before, fact)
        if after.status.is_over and not before.status.is_over:
            self.seconds += (at - self.created[fact.session]).total_seconds()
        match fact:
            case facts.SessionRequested():
                self.launched[place] += 1
                self.created[fact.session] = at
            case facts.SessionFound():
                self.found[place] += 1
                self.created[fact.session] = at
            case facts.TurnStarted() if not before.status.is_over:
                self.turns[place] += 1
            case facts.UsageReported():
                self._add_usage(fact, place)
            case _:
                pass
        if name := _event(fact):
            self.events[name] += 1

    def _add_usage(self, used: facts.UsageReported, place: tuple[str, str]) -> None:
        self.input_tokens[place] += used.input_tokens
        self.output_tokens[place] += used.output_tokens
        if used.cost is not None:
            self.cost[place] += used.cost
            self.estimated[place] += used.cost if used.estimated else 0
        cost, tokens = self.spent.get(used.session, (0, 0))
        tokens += used.input_tokens + used.output_tokens
        self.spent[used.session] = (cost + (used.cost or 0), tokens)


def _event(fact: Fact) -> tuple[str, str] | None:
    match fact:
        case facts.MessageWritten():
            return "messages_written", ""
        case facts.ToolCalled():
            return "tools_called", ""
        case facts.InputAsked(kind=kind):
            return "requests_asked", kind
        case facts.CallDecided(decision=decision, rule=rule):
            return ("calls_ruled" if rule else "requests_answered"), decision
        case _:
            return None


def recount(history: History) -> Recount:
    found = Recount()
    for delivery in history.recorded:
        found.events["hook_calls", "recorded"] += 1
        for told in delivery.told:
            found.add(told, history.agents[told.fact.session].agent)
    return found


def check(history: History) -> None:
    """Compare what the store counts with the recount, in total and for each selection."""
    expected = recount(history)
    days = sorted({day for day, _ in (*expected.launched, *expected.found, *expected.cost)})
    middle = days[len(days) // 2]
    for since in (None, middle):
        for agent in (None, *AGENTS):
            _check_sums(history.db, expected, statistics.Selection(since, agent))
    whole = statistics.count(history.db)
    statuses = Counter(str(each.status) for each in expected.states.values())
    assert whole.by_status == statuses
    assert whole.live == sum(not each.status.is_over for each in expected.states.values())
    assert whole.total_seconds == round(expected.seconds, 3)
    assert counters.read(history.db) == expected.events
    of_deleted = "session <> '' and session not in (select id from sessions)"
    assert not history.db.execute(f"select * from session_days where {of_deleted}").fetchall()  # noqa: S608 - of ours
    dearest = max(expected.spent.values(), default=(0, 0))
    found = whole.most_expensive
    assert ((found.cost or 0, found.tokens) if found else (0, 0)) == dearest


def _check_sums(db: Connection, expected: Recount, chosen: statistics.Selection) -> None:
    found = statistics.count(db, chosen)

    def total(numbers: dict[tuple[str, str], int]) -> int:
        return sum(_selected(numbers, chosen))

    assert found.launched == total(expected.launched)
    assert found.found == total(expected.found)
    assert found.turns == total(expected.turns)
    assert found.input_tokens == total(expected.input_tokens)
    assert found.output_tokens == total(expected.output_tokens)
    assert found.estimated_cost == total(expected.estimated)
    costs = [*_selected(expected.cost, chosen)]
    assert found.cost == (sum(costs) if costs else None)
    for rows in (found.days, found.agents):
        assert sum(each.cost or 0 for each in rows) == sum(costs)
        assert sum(each.turns for each in rows) == found.turns
    assert found.cost_by_day == _by(0, expected.cost, chosen)
    assert found.cost_by_agent == _by(1, expected.cost, chosen)


def _selected(
    numbers: dict[tuple[str, str], int], chosen: statistics.Selection
) -> Iterable[int]:
    return (number for place, number in numbers.items() if _is_chosen(place, chosen))


def _is_chosen(place: tuple[str, str], chosen: statistics.Selection) -> bool:
    day, agent = place
    return day >= (chosen.since or "") and chosen.agent in {None, agent}


def _by(
    part: int, costs: dict[tuple[str, str], int], chosen: statistics.Selection
) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for place, cost in costs.items():
        if _is_chosen(place, chosen):
            sums[place[part]] += cost
    return dict(sums)
