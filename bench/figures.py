"""The figures of a benchmark, beside limit, naive method and goal, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import Literal

HEAD = ("measurement", "Rookery", "limit", "naive", "times better", "goal", "")

#: From these values on, numbers have no decimals, or one.
_WHOLE, _TENTHS = 100, 10


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value."""

    what: str
    unit: str
    ours: float | None  #: ``None`` if it could not be measured here
    naive: float | None = None  #: the same measured with the naive method
    limit: float | None = None  #: the bare tool, without checks and records
    goal: float | None = None
    better: Literal["less", "more"] = "less"

    @property
    def ratio(self) -> float | None:
        """Return how many times better Rookery is than the naive method."""
        if not self.ours or not self.naive or min(self.ours, self.naive) < 0:
            return None  # a difference smaller than the noise
        return self.naive / self.ours if self.better == "less" else self.ours / self.naive

    @property
    def is_missed(self) -> bool:
        """Return whether the figure has a goal and does not reach it."""
        if self.ours is None or self.goal is None:
            return False
        return self.ours > self.goal if self.better == "less" else self.ours < self.goal

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "not measured"
        if self.goal is None:
            return ""
        return "MISSED" if self.is_missed else "ok"

    @property
    def cells(self) -> tuple[str, ...]:
        sign = "≤" if self.better == "less" else "≥"
        goal = f"{sign} {_number(self.goal)} {self.unit}".rstrip() if self.goal else ""
        ratio = f"{_number(self.ratio)}×" if self.ratio else ""
        values = [_value(each, self.unit) for each in (self.ours, self.limit, self.naive)]
        return (self.what, *values, ratio, goal, self.verdict)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that ``percent`` of them do not exceed."""
    rank = ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def table(figures: Sequence[Figure]) -> str:
    rows = [HEAD, *(figure.cells for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_aligned(row, widths) for row in rows)


def markdown(figures: Sequence[Figure]) -> str:
    rule = ("---", *["---:"] * (len(HEAD) - 2), "---")
    # Markdown drops the leading spaces that mark a part of the figure above.
    cells = ((what.replace("  ", "… ", 1), *rest) for what, *rest in (f.cells for f in figures))
    rows = chain([HEAD, rule], cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    what, *numbers, verdict = row
    first, *others, _ = widths
    cells = [cell.rjust(width) for cell, width in zip(numbers, others, strict=True)]
    return "  ".join(["", what.ljust(first), *cells, verdict]).rstrip()


def _value(value: float | None, unit: str) -> str:
    return "" if value is None else f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    if abs(value) >= _WHOLE or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= _TENTHS else f"{value:.2f}"
