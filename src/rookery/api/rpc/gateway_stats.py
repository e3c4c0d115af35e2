"""The statistics of sessions, in the terms of tools for Claude Code."""

from __future__ import annotations

from rookery.api.rpc.display import dollars, stats_text
from rookery.api.rpc.gateway_shapes import ExpensiveSession, SessionStats, StatsArguments
from rookery.api.rpc.methods import RpcCaller
from rookery.model.errors import CommandRefused
from rookery.model.sessions import Session
from rookery.store.statistics import Expense, Statistics


async def show_stats(caller: RpcCaller, params: StatsArguments) -> SessionStats:
    """Count the sessions of all agents, their durations and their cost."""
    found: Statistics = await caller.ask("stats")
    average = found.average_seconds
    average_ms = None if average is None else round(average * 1000)
    cost = dollars(found.cost)
    return SessionStats(
        total_cost_usd=cost,
        cost_per_day=_cost_per_day(found),
        sessions_by_status=found.by_status,
        total_launched=found.launched,
        average_duration_ms=average_ms,
        most_expensive=await _most_expensive(caller, found.most_expensive),
        display=stats_text(found.launched, found.by_status, average_ms, cost),
    )


def _cost_per_day(found: Statistics) -> dict[str, float]:
    costs = {day: dollars(cost) for day, cost in found.cost_by_day.items()}
    return {day: cost for day, cost in costs.items() if cost is not None}


async def _most_expensive(
    caller: RpcCaller, expense: Expense | None
) -> ExpensiveSession | None:
    if expense is None or (cost := dollars(expense.cost)) is None:
        return None
    session = await _find(caller, expense)
    return ExpensiveSession(
        id=session.id if session else None,
        name=expense.name,
        cost_usd=cost,
        prompt=session.first_prompt if session else None,
    )


async def _find(caller: RpcCaller, expense: Expense) -> Session | None:
    """Return the session of an expense; none if it was deleted, or another has its name."""
    try:
        session: Session = await caller.ask("show", session=expense.name)
    except CommandRefused:
        return None
    is_same = (session.name, session.cost) == (expense.name, expense.cost)
    return session if is_same else None
