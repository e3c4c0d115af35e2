"""Count sessions and what they used."""

from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import AgentUnknown
from rookery.model.spelling_suggestions import did_you_mean
from rookery.operations.access import family_of
from rookery.operations.context import Caller, Context
from rookery.operations.operation import Params
from rookery.store import statistics
from rookery.store.statistics import Selection, Statistics


class StatisticsParams(Params):
    days: int | None = Field(
        None, ge=1, le=36_500, description="only the last days, today included; else all"
    )
    agent: str | None = Field(None, description="only sessions of this agent; else all")


async def count(context: Context, caller: Caller, params: StatisticsParams) -> Statistics:
    """Count sessions, turns, tokens and cost, in total, by local day and by agent."""
    if params.agent is not None and params.agent not in context.agents:
        names = ", ".join(sorted(context.agents))
        near = did_you_mean(params.agent, context.agents) or f"There are: {names}."
        raise AgentUnknown(f"{params.agent[:80]!r}. {near}")
    since = _first_day(context, params.days)

    def read(db: Connection) -> Statistics:
        among = family_of(db, context, caller)
        return statistics.count(db, Selection(since, params.agent, among))

    return await context.database.read(read)


def _first_day(context: Context, days: int | None) -> str | None:
    """Return the first of the last ``days`` days in the local time zone."""
    if days is None:
        return None
    today = context.journal.clock.now().astimezone().date()
    return (today - timedelta(days=days - 1)).isoformat()
