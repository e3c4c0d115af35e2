"""What there was, in numbers: each session counted once, also after it was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

_ALL = """
    select substr(created_at, 1, 10) as day, agent, status, 1 as sessions,
        (julianday(coalesce(ended_at, created_at)) - julianday(created_at)) * 86400 as seconds
        from sessions
    union all select day, agent, status, sessions, seconds from tallies
"""


@dataclass(frozen=True, slots=True)
class Statistics:
    launched: int
    live: int
    by_status: dict[str, int]
    by_agent: dict[str, int]
    by_day: dict[str, int]
    total_seconds: float  #: of those that ended
    average_seconds: float | None
    turns: int
    tokens: int | None = None  #: unknown until agents report them
    cost: int | None = None  #: micro-dollars; unknown until agents report it
    most_expensive: str | None = None


def count(db: Connection) -> Statistics:
    by_status = _by(db, "status")
    live = sum(by_status.get(each, 0) for each in ("starting", "running", "closing"))
    ended = sum(by_status.values()) - live
    (seconds,) = db.execute(f"select coalesce(sum(seconds), 0) from ({_ALL})").fetchone()
    (turns,) = db.execute("select count(*) from turns").fetchone()
    return Statistics(
        launched=live + ended,
        live=live,
        by_status=by_status,
        by_agent=_by(db, "agent"),
        by_day=_by(db, "day"),
        total_seconds=round(seconds, 3),
        average_seconds=round(seconds / ended, 3) if ended else None,
        turns=turns,
    )


def _by(db: Connection, column: str) -> dict[str, int]:
    rows = db.execute(
        f"select {column} as word, sum(sessions) as number from ({_ALL}) group by 1 order by 1"
    )
    return {row["word"]: row["number"] for row in rows}
