"""Store what sessions used on each local day, also of sessions that were deleted."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId, UsageReported
from rookery.model.sessions import Session
from rookery.store.timestamps import stamp

#: The id under which the rows of deleted sessions are added up.
DELETED = ""

#: A day of the computer's time zone at the moment of recording: it stays what it was if the
#: time zone changes later.
_DAY = "date(:at, 'localtime')"

_ADD_COST = "cost = iif(excluded.cost is null, cost, coalesce(cost, 0) + excluded.cost)"


def add_session(db: Connection, session: Session) -> None:
    """Count a session on the day on which it was created."""
    db.execute(
        f"insert into session_days (session, day, agent, launched, found)"
        f" values (:session, {_DAY}, :agent, :ours, not :ours)",
        {
            "session": session.id,
            "at": stamp(session.created_at),
            "agent": session.agent,
            "ours": session.is_ours,
        },
    )


def add_turn(db: Connection, session: SessionId, *, at: datetime) -> None:
    """Count a turn on the day on which it began."""
    db.execute(
        f"insert into session_days (session, day, agent, turns)"
        f" select id, {_DAY}, agent, 1 from sessions where id = :session"
        " on conflict do update set turns = turns + 1",
        {"session": session, "at": stamp(at)},
    )


def add_usage(db: Connection, usage: UsageReported, *, at: datetime) -> None:
    """Count tokens and cost on the day on which they were reported."""
    db.execute(
        "insert into session_days (session, day, agent, input_tokens, output_tokens, cost,"
        f" estimated_cost) select id, {_DAY}, agent, :input, :output, :cost, :estimated"
        " from sessions where id = :session"
        " on conflict do update set input_tokens = input_tokens + excluded.input_tokens,"
        f" output_tokens = output_tokens + excluded.output_tokens, {_ADD_COST},"
        " estimated_cost = estimated_cost + excluded.estimated_cost",
        {
            "session": usage.session,
            "at": stamp(at),
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cost": usage.cost,
            "estimated": usage.estimated_cost,
        },
    )


def fold(db: Connection, session: SessionId) -> None:
    """Add the rows of a session that is being deleted to those of all deleted sessions."""
    db.execute(
        "insert into session_days (session, day, agent, launched, found, turns, input_tokens,"
        " output_tokens, cost, estimated_cost)"
        " select ?, day, agent, launched, found, turns, input_tokens, output_tokens, cost,"
        " estimated_cost from session_days where session = ?"
        " on conflict do update set launched = launched + excluded.launched,"
        " found = found + excluded.found, turns = turns + excluded.turns,"
        " input_tokens = input_tokens + excluded.input_tokens,"
        f" output_tokens = output_tokens + excluded.output_tokens, {_ADD_COST},"
        " estimated_cost = estimated_cost + excluded.estimated_cost",
        (DELETED, session),
    )
    db.execute("delete from session_days where session = ?", (session,))
