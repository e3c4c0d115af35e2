"""Amounts of money, which are stored as whole micro-dollars."""

from __future__ import annotations

#: Micro-dollars in a dollar.
MICRO_DOLLARS = 1_000_000


def in_dollars(micro_dollars: int) -> float:
    return micro_dollars / MICRO_DOLLARS


def in_micro_dollars(dollars: float) -> int:
    return round(dollars * MICRO_DOLLARS)
