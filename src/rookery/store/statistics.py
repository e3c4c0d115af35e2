"""What there was, in numbers: each session counted once, also after it was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

#: Sessions in the shape of tallies, a tally of one for each.
EACH = """
    select substr(created_at, 1, 10) as day, agent, status, 1 as sessions,
        (julianday(coalesce(ended_at, created_at)) - julianday(created_at)) * 86400 as seconds,
        (select count(*) from turns where session = sessions.id) as turns,
        input_tokens, output_tokens, cost, name as dearest, cost as dearest_cost,
        input_tokens + output_tokens as dearest_tokens
        from sessions
"""

_ALL = f"{EACH} union all select * from tallies"


@dataclass(frozen=True, slots=True)
class Expense:
    name: str  #: of the session
    tokens: int
    cost: int | None  #: micro-dollars


@dataclass(frozen=True, slots=True)
class Statistics:
    launched: int
    live: int
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: dict[str, int]  #: of their starts, as all that is said of days
    total_seconds: float  #: of those that ended
    average_seconds: float | None
    turns: int
    input_tokens: int  #: all that went in, from a cache or not
    output_tokens: int
    tokens_by_agent: dict[str, int]  #: in and out; of those that report them
    tokens_by_day: dict[str, int]
    cost: int | None  #: micro-dollars; unknown where no agent and no price table says
    cost_by_agent: dict[str, int]
    cost_by_day: dict[str, int]
    most_expensive: Expense | None  #: by its cost; by its tokens where that is not known


def count(db: Connection) -> Statistics:
    by_status = _by(db, "status")
    live = sum(by_status.get(each, 0) for each in ("starting", "running", "closing"))
    ended = sum(by_status.values()) - live
    total = db.execute(
        "select coalesce(sum(seconds), 0) as seconds, coalesce(sum(turns), 0) as turns,"
        " coalesce(sum(input_tokens), 0) as input, coalesce(sum(output_tokens), 0) as output,"
        f" sum(cost) as cost from ({_ALL})"
    ).fetchone()
    return Statistics(
        launched=live + ended,
        live=live,
        by_status=by_status,
        by_agent=_by(db, "agent"),
        by_day=_by(db, "day"),
        total_seconds=round(total["seconds"], 3),
        average_seconds=round(total["seconds"] / ended, 3) if ended else None,
        turns=total["turns"],
        input_tokens=total["input"],
        output_tokens=total["output"],
        tokens_by_agent=_by(db, "agent", "nullif(input_tokens + output_tokens, 0)"),
        tokens_by_day=_by(db, "day", "nullif(input_tokens + output_tokens, 0)"),
        cost=total["cost"],
        cost_by_agent=_by(db, "agent", "cost"),
        cost_by_day=_by(db, "day", "cost"),
        most_expensive=_most_expensive(db),
    )


def _by(db: Connection, column: str, number: str = "sessions") -> dict[str, int]:
    rows = db.execute(
        f"select {column} as word, sum({number}) as number from ({_ALL})"
        " group by 1 having number is not null order by 1"
    )
    return {row["word"]: row["number"] for row in rows}


def _most_expensive(db: Connection) -> Expense | None:
    row = db.execute(
        f"select dearest, dearest_tokens, dearest_cost from ({_ALL})"
        " where dearest_tokens > 0 or dearest_cost > 0"
        " order by coalesce(dearest_cost, 0) desc, dearest_tokens desc limit 1"
    ).fetchone()
    return Expense(*row) if row else None
