"""Count the tools, denials, tokens and cost of a session."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.store import session_days
from rookery.store.timestamps import stamp

#: The facts that change counts.
PROJECTED: frozenset[type[Fact]] = frozenset(
    {facts.ToolCalled, facts.CallDecided, facts.UsageReported, facts.SessionLabelled}
)


def project(db: Connection, fact: Fact, *, at: datetime) -> None:
    """Add what ``fact`` reports to the counts."""
    match fact:
        case facts.ToolCalled(session, tool, argument):
            db.execute(
                "update sessions set last_tool = ?, tool_argument = ?, tool_at = ?,"
                " tool_ended_at = null, tool_count = tool_count + 1 where id = ?",
                (tool, argument, stamp(at), session),
            )
        case facts.CallDecided(session, _, "deny"):
            db.execute(
                "update sessions set denial_count = denial_count + 1, tool_ended_at = ?"
                " where id = ?",
                (stamp(at), session),
            )
        case facts.UsageReported():
            _add_usage(db, fact)
            if fact.context:
                query = "update sessions set context_tokens = ? where id = ?"
                db.execute(query, (fact.context, fact.session))
            session_days.add_usage(db, fact, at=at)
        case facts.SessionLabelled(session, label):
            db.execute("update sessions set label = ? where id = ?", (label, session))
        case _:
            pass


_OF_ITS_TURN = """
    session = :session and started_by = coalesce(
        :turn, (select max(started_by) from turns where session = :session))
"""


def _add_usage(db: Connection, usage: facts.UsageReported) -> None:
    """Add the usage to the session and to its turn."""
    used = {
        "session": usage.session,
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cost": usage.cost,
        "estimated": usage.estimated_cost,
        "turn": usage.turn,
    }
    for table, which in (("sessions", "id = :session"), ("turns", _OF_ITS_TURN)):
        db.execute(
            f"update {table} set input_tokens = input_tokens + :input,"
            " output_tokens = output_tokens + :output,"
            " estimated_cost = estimated_cost + :estimated,"
            f" cost = iif(:cost is null, cost, coalesce(cost, 0) + :cost) where {which}",
            used,
        )
