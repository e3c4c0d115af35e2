"""Statistics of all sessions; each counts once, even after it was deleted."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId
from rookery.model.money import in_dollars
from rookery.store.session_days import DELETED
from rookery.store.sessions import LIVE

#: Sessions in the format of the table ``tallies``, one row per session. A session belongs to
#: the day on which it was created.
EACH = """
    select first.day as day, sessions.agent as agent, status, 1 as sessions,
        (julianday(coalesce(ended_at, created_at)) - julianday(created_at)) * 86400 as seconds,
        name as dearest, sessions.cost as dearest_cost,
        sessions.input_tokens + sessions.output_tokens as dearest_tokens,
        sessions.estimated_cost as dearest_estimated
        from sessions join session_days as first
        on first.session = sessions.id and first.launched + first.found = 1
"""

_TALLIES = """
    select day, agent, status, sessions, seconds, dearest, dearest_cost, dearest_tokens,
        dearest_estimated from tallies
"""

#: The rows that a selection includes. A comparison with null, which means all, is not true.
_OF_AGENT = "(agent = :agent) is not false"
_SELECTED = f"(day >= :since) is not false and {_OF_AGENT}"

_ENDED = ("completed", "failed", "killed")

_AMONG = "(select value from json_each(:among))"

_BY_STATUS = f"""
    select status, sum(sessions) as sessions, sum(seconds) as seconds from ({{counted}})
        where {_SELECTED} group by status order by status
"""

#: Sums of ``session_days``, by the day or by the agent.
_SUMS = f"""
    select {{by}} as label, sum(launched) as launched, sum(found) as found,
        sum(turns) as turns, sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens, sum(cost) as cost,
        sum(estimated_cost) as estimated_cost
        from session_days where {_SELECTED} {{which}} group by label order by label
"""

#: Within the selected days, what each session used; a deleted one counts on its first day.
_EXPENSES = f"""
    select (select name from sessions where id = session) as name,
        sum(input_tokens + output_tokens) as tokens, sum(cost) as cost,
        sum(estimated_cost) as estimated_cost
        from session_days where session <> '{DELETED}' and {_SELECTED} {{which}}
        group by session
"""

_EXPENSES_OF_DELETED = f"""
    select dearest, dearest_tokens, dearest_cost, dearest_estimated from tallies
        where {_SELECTED}
"""

_MOST_EXPENSIVE = """
    select name, tokens, cost, estimated_cost from ({expenses}) where tokens > 0 or cost > 0
        order by coalesce(cost, 0) desc, tokens desc limit 1
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sessions and days to count."""

    since: str | None = None  #: the first day; none means all
    agent: str | None = None  #: none means all
    #: Only these sessions; deleted ones are not known individually. None means all.
    among: Collection[SessionId] | None = None

    @property
    def values(self) -> dict[str, str | None]:
        among = json.dumps([*(self.among or ())])
        return {"since": self.since, "agent": self.agent, "among": among}


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What was used on one day, or by one agent."""

    label: str  #: the day, or the name of the agent
    launched: int  #: sessions that Rookery started
    found: int  #: sessions that it did not start
    turns: int
    input_tokens: int  #: including cached input
    output_tokens: int
    cost: int | None  #: micro-dollars; none if neither an agent nor a price gives it
    estimated_cost: int  #: the part of the cost that was computed from prices
    cost_usd: float | None  #: ``cost`` in dollars

    @property
    def sessions(self) -> int:
        return self.launched + self.found

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Expense:
    name: str  #: the session's name
    tokens: int
    cost: int | None  #: micro-dollars
    estimated_cost: int  #: the part of the cost that was computed from prices
    cost_usd: float | None  #: ``cost`` in dollars


@dataclass(frozen=True, slots=True)
class Statistics:
    launched: int  #: sessions that Rookery started
    found: int  #: sessions that it did not start, and knows by their hooks or panes
    live: int  #: now, whenever they began
    by_status: dict[str, int]  #: of those that began on the selected days
    by_agent: dict[str, int]
    by_day: dict[str, int]  #: by the local day of their start
    total_seconds: float  #: of ended sessions
    average_seconds: float | None
    turns: int
    input_tokens: int  #: including cached input
    output_tokens: int
    tokens_by_agent: dict[str, int]  #: input and output; of agents that report them
    tokens_by_day: dict[str, int]  #: by the local day of the report
    cost: int | None  #: micro-dollars; none if neither an agent nor a price table gives it
    cost_usd: float | None  #: ``cost`` in dollars
    estimated_cost: int  #: the part of the cost that was computed from prices
    cost_by_agent: dict[str, int]
    cost_by_day: dict[str, int]  #: by the local day of the report
    most_expensive: Expense | None  #: by cost; by tokens if the cost is unknown
    agents: tuple[UsageSum, ...]  #: by name
    days: tuple[UsageSum, ...]  #: in order; without days on which nothing happened


def count(db: Connection, selection: Selection | None = None) -> Statistics:
    """Count the selected sessions and what they used; all of them, if nothing is selected."""
    chosen = selection or Selection()
    by_status, seconds = _by_status(db, chosen)
    ended = sum(by_status.get(each, 0) for each in _ENDED)
    agents, days = _sums(db, chosen, by="agent"), _sums(db, chosen, by="day")
    cost = _total(each.cost for each in agents)
    return Statistics(
        launched=sum(each.launched for each in agents),
        found=sum(each.found for each in agents),
        live=_count_live(db, chosen),
        by_status=by_status,
        by_agent={each.label: each.sessions for each in agents if each.sessions},
        by_day={each.label: each.sessions for each in days if each.sessions},
        total_seconds=round(seconds, 3),
        average_seconds=round(seconds / ended, 3) if ended else None,
        turns=sum(each.turns for each in agents),
        input_tokens=sum(each.input_tokens for each in agents),
        output_tokens=sum(each.output_tokens for each in agents),
        tokens_by_agent={each.label: each.tokens for each in agents if each.tokens},
        tokens_by_day={each.label: each.tokens for each in days if each.tokens},
        cost=cost,
        cost_usd=dollars(cost),
        estimated_cost=sum(each.estimated_cost for each in agents),
        cost_by_agent=_known_costs(agents),
        cost_by_day=_known_costs(days),
        most_expensive=_most_expensive(db, chosen),
        agents=agents,
        days=days,
    )


def _count_live(db: Connection, chosen: Selection) -> int:
    """Count the sessions that are live now: today is one of the selected days."""
    which = "" if chosen.among is None else f"and id in {_AMONG}"
    live = f"select count(*) from sessions where {LIVE} and {_OF_AGENT} {which}"
    return int(db.execute(live, chosen.values).fetchone()[0])


def count_by_status(db: Connection) -> Mapping[tuple[str, str], int]:
    """Count all sessions, including deleted ones, by agent and status."""
    rows = db.execute(
        "select agent, status, count(*) as sessions from sessions group by agent, status"
        " union all select agent, status, sum(sessions) from tallies group by agent, status"
    )
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        numbers[row["agent"], row["status"]] += row["sessions"]
    return numbers


def sum_by_agent(db: Connection) -> tuple[UsageSum, ...]:
    """Return what each agent has used, including its deleted sessions."""
    return _sums(db, Selection(), by="agent")


def dollars(cost: int | None) -> float | None:
    """Convert micro-dollars to dollars."""
    return None if cost is None else in_dollars(cost)


def _by_status(db: Connection, chosen: Selection) -> tuple[dict[str, int], float]:
    """Return the number of sessions by status, and how long ended sessions ran."""
    counted = f"{EACH} union all {_TALLIES}"
    if chosen.among is not None:
        counted = f"{EACH} where sessions.id in {_AMONG}"
    rows = db.execute(_BY_STATUS.format(counted=counted), chosen.values).fetchall()
    by_status = {row["status"]: row["sessions"] for row in rows}
    return by_status, sum(row["seconds"] for row in rows)


def _sums(db: Connection, chosen: Selection, *, by: str) -> tuple[UsageSum, ...]:
    which = "" if chosen.among is None else f"and session in {_AMONG}"
    rows = db.execute(_SUMS.format(by=by, which=which), chosen.values)
    return tuple(UsageSum(**row, cost_usd=dollars(row["cost"])) for row in rows)


def _known_costs(used: Iterable[UsageSum]) -> dict[str, int]:
    return {each.label: each.cost for each in used if each.cost is not None}


def _total(costs: Iterable[int | None]) -> int | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _most_expensive(db: Connection, chosen: Selection) -> Expense | None:
    expenses = f"{_EXPENSES.format(which='')} union all {_EXPENSES_OF_DELETED}"
    if chosen.among is not None:
        expenses = _EXPENSES.format(which=f"and session in {_AMONG}")
    query = _MOST_EXPENSIVE.format(expenses=expenses)
    row: Row | None = db.execute(query, chosen.values).fetchone()
    return Expense(**row, cost_usd=dollars(row["cost"])) if row else None
