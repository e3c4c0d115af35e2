"""Statistics of all sessions; each counts once, even after it was deleted."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection, Row

from rookery.model.facts import SessionId

#: Sessions in the format of the table ``tallies``, one row per session.
EACH = """
    select substr(created_at, 1, 10) as day, agent, status, 1 as sessions,
        (julianday(coalesce(ended_at, created_at)) - julianday(created_at)) * 86400 as seconds,
        (select count(*) from turns where session = sessions.id) as turns,
        input_tokens, output_tokens, cost, name as dearest, cost as dearest_cost,
        input_tokens + output_tokens as dearest_tokens,
        runtime not in ('observed', 'headless') as launched
        from sessions
"""

_ALL = f"{EACH} union all select * from tallies"

#: Only the given sessions; deleted ones are no longer known individually.
_SOME = f"{EACH} where id in (select value from json_each(:among))"

#: One query for all numbers, as other readers wait for it.
_GROUPS = """
    select day, agent, status, sum(sessions) as sessions, sum(seconds) as seconds,
        sum(turns) as turns, sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens, sum(cost) as cost,
        nullif(sum(input_tokens + output_tokens), 0) as tokens, sum(launched) as launched
        from ({counted}) group by day, agent, status
"""


@dataclass(frozen=True, slots=True)
class Expense:
    name: str  #: the session's name
    tokens: int
    cost: int | None  #: micro-dollars


@dataclass(frozen=True, slots=True)
class Statistics:
    launched: int  #: sessions that Rookery started
    found: int  #: sessions that it did not start, and knows by their hooks or panes
    live: int
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: dict[str, int]  #: by the day of their start, as in all numbers by day
    total_seconds: float  #: of ended sessions
    average_seconds: float | None
    turns: int
    input_tokens: int  #: including cached input
    output_tokens: int
    tokens_by_agent: dict[str, int]  #: input and output; of agents that report them
    tokens_by_day: dict[str, int]
    cost: int | None  #: micro-dollars; none if neither an agent nor a price table gives it
    cost_by_agent: dict[str, int]
    cost_by_day: dict[str, int]
    most_expensive: Expense | None  #: by cost; by tokens if the cost is unknown


def count(db: Connection, *, among: Collection[SessionId] | None = None) -> Statistics:
    """Count all sessions, including deleted ones; or only the sessions in ``among``."""
    counted, values = _ALL, {"among": json.dumps([*(among or ())])}
    if among is not None:
        counted = _SOME
    groups = db.execute(_GROUPS.format(counted=counted), values).fetchall()
    by_status = _by("status", groups, "sessions")
    live = sum(by_status.get(each, 0) for each in ("starting", "running", "closing"))
    ended = sum(by_status.values()) - live
    seconds = sum(group["seconds"] for group in groups)
    costs = [group["cost"] for group in groups if group["cost"] is not None]
    return Statistics(
        launched=sum(group["launched"] for group in groups),
        found=sum(group["sessions"] - group["launched"] for group in groups),
        live=live,
        by_status=by_status,
        by_agent=_by("agent", groups, "sessions"),
        by_day=_by("day", groups, "sessions"),
        total_seconds=round(seconds, 3),
        average_seconds=round(seconds / ended, 3) if ended else None,
        turns=sum(group["turns"] for group in groups),
        input_tokens=sum(group["input_tokens"] for group in groups),
        output_tokens=sum(group["output_tokens"] for group in groups),
        tokens_by_agent=_by("agent", groups, "tokens"),
        tokens_by_day=_by("day", groups, "tokens"),
        cost=sum(costs) if costs else None,
        cost_by_agent=_by("agent", groups, "cost"),
        cost_by_day=_by("day", groups, "cost"),
        most_expensive=_most_expensive(db, counted, values),
    )


def _by(word: str, groups: Sequence[Row], number: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in sorted(groups, key=lambda each: each[word]):
        if group[number] is not None:
            found[group[word]] = found.get(group[word], 0) + group[number]
    return found


def _most_expensive(db: Connection, counted: str, values: dict[str, str]) -> Expense | None:
    row = db.execute(
        f"select dearest, dearest_tokens, dearest_cost from ({counted})"
        " where dearest_tokens > 0 or dearest_cost > 0"
        " order by coalesce(dearest_cost, 0) desc, dearest_tokens desc limit 1",
        values,
    ).fetchone()
    return Expense(*row) if row else None
