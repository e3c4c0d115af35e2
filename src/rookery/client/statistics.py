"""Statistics of sessions: their number, duration, tokens and cost."""

from __future__ import annotations

from typing import Any

from msgspec import field

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.transport import Client


class ExpenseInfo(DaemonAnswer, frozen=True):
    name: str = ""
    tokens: int = 0
    cost_usd: float | None = None
    estimated_cost: int = 0


class UsageSumInfo(DaemonAnswer, frozen=True):
    label: str = ""
    launched: int = 0
    found: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    estimated_cost: int = 0

    @property
    def sessions(self) -> int:
        return self.launched + self.found

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class StatisticsInfo(DaemonAnswer, frozen=True):
    launched: int = 0
    found: int = 0
    live: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    total_seconds: float = 0.0
    average_seconds: float | None = None
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    estimated_cost: int = 0
    most_expensive: ExpenseInfo | None = None
    agents: tuple[UsageSumInfo, ...] = ()
    days: tuple[UsageSumInfo, ...] = ()


def show_statistics(
    daemon: Client, *, days: int | None = None, agent: str | None = None
) -> StatisticsInfo:
    """Return the statistics of the last ``days`` days, or of all; of one agent, or of all."""
    selection: dict[str, Any] = {"days": days, "agent": agent}
    given = {name: value for name, value in selection.items() if value is not None}
    return read(StatisticsInfo, daemon.get("stats", **given))
