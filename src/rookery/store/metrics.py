"""Read the figures that metrics show, in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from rookery.store import counters, journal_entries, statistics
from rookery.store.sessions import LIVE
from rookery.store.statistics import UsageSum


@dataclass(frozen=True, slots=True)
class Figures:
    live: Mapping[tuple[str, str], int]  #: live sessions by agent and status
    activities: Mapping[tuple[str, str], int]  #: running sessions by agent and activity
    ended: Mapping[tuple[str, str], int]  #: by agent and status; also deleted sessions
    agents: Sequence[UsageSum]  #: what each agent has used; also by deleted sessions
    messages: Mapping[str, int]  #: stored messages by step
    counters: Mapping[tuple[str, str], int]  #: by name and label
    entries: int  #: that were ever written to the journal


def read(db: Connection) -> Figures:
    """Read all figures. It takes a few milliseconds with thousands of sessions."""
    by_status = statistics.count_by_status(db)
    live = ("starting", "running", "closing")
    return Figures(
        live={key: number for key, number in by_status.items() if key[1] in live},
        activities=_activities(db),
        ended={key: number for key, number in by_status.items() if key[1] not in live},
        agents=statistics.sum_by_agent(db),
        messages=_messages(db),
        counters=counters.read(db),
        entries=journal_entries.last_number(db),
    )


def _activities(db: Connection) -> dict[tuple[str, str], int]:
    rows = db.execute(
        "select agent, activity, count(*) as number from sessions indexed by sessions_live"
        f" where {LIVE} and activity is not null group by agent, activity"
    )
    return {(row["agent"], row["activity"]): row["number"] for row in rows}


def _messages(db: Connection) -> dict[str, int]:
    rows = db.execute(
        "select step, count(*) as number from messages indexed by messages_by_step"
        " group by step"
    )
    return {row["step"]: row["number"] for row in rows}
