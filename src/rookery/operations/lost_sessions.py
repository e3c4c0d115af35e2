"""The operation that lists sessions which ended unexpectedly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.model.sessions import Session
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Params
from rookery.operations.resume import is_native_id
from rookery.ports.agent import Agent
from rookery.store import session_losses

#: Hours for which a lost session is offered to be resumed.
LOST_HOURS = 7 * 24.0

#: The same for a session that ended unexpectedly for another reason.
UNEXPECTED_END_HOURS = 24.0


class LostParams(Params):
    all: bool = Field(False, description="also those whose program failed or was inactive")
    hours: Annotated[float, Field(gt=0, le=87_600)] | None = Field(
        None, description="that ended within this time; by default 168, with all 24"
    )


@dataclass(frozen=True, slots=True)
class LostSession:
    session: Session
    obstacle: str = ""  #: why its conversation cannot be continued; empty if it can


@dataclass(frozen=True, slots=True)
class LostSessions:
    sessions: list[LostSession]
    hours: float  #: they ended within this time


async def list_lost(context: Context, caller: Caller, params: LostParams) -> LostSessions:
    """List the sessions that were lost and not resumed, with those that cannot be."""
    hours = params.hours or (UNEXPECTED_END_HOURS if params.all else LOST_HOURS)
    since = context.journal.clock.now() - timedelta(hours=hours)
    find = session_losses.ended_unexpectedly if params.all else session_losses.lost

    def read(db: Connection) -> LostSessions:
        found = find(db, since=since)
        listed = [
            LostSession(each, why_not_resumable(context.agents, db, each)) for each in found
        ]
        return LostSessions(listed, hours)

    return await context.database.read(read)


def count_lost(context: Context, db: Connection, now: datetime) -> int:
    """Count the sessions that were lost, were not resumed and can be."""
    found = session_losses.lost(db, since=now - timedelta(hours=LOST_HOURS))
    return sum(not why_not_resumable(context.agents, db, each) for each in found)


def why_not_resumable(agents: Mapping[str, Agent], db: Connection, session: Session) -> str:
    """Return why the conversation of an ended session cannot be continued; empty if it can."""
    agent = agents.get(session.agent)
    if agent is None or not agent.abilities.can_resume:
        return f"{session.agent} cannot continue a conversation"
    if not session_losses.has_conversation(db, session.id):
        return "it had no turn yet"
    if not is_native_id(session.native_id):
        return f"{session.agent} did not report its conversation"
    return ""
