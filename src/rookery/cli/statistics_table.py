"""Statistics as lines that fit the terminal: sums, tables, and a chart of the cost per day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from rookery.cli.colour import is_colourful
from rookery.cli.tables import GAP_CELLS
from rookery.client.statistics import ExpenseInfo, StatisticsInfo, UsageSumInfo
from rookery.presentation.amounts import ESTIMATED, cost_text, duration, short_count
from rookery.presentation.bars import bar
from rookery.presentation.cells import cells, cut, wrapped
from rookery.presentation.texts import count, one_line

#: Days that are listed if the user has not said how many.
DEFAULT_DAYS = 14

#: Limits for the longest bar, in cells. A table without room for the minimum has no bars.
MIN_BAR_CELLS, MAX_BAR_CELLS = 6, 40

#: The columns that a narrow terminal leaves out, in this order.
_SPARED = ("TURNS", "OUTPUT", "INPUT", "SESSIONS")

#: The final statuses of sessions, and their names in the output.
_ENDED = {"completed": "completed", "failed": "failed", "killed": "ended on request"}

_NO_PRICE = "– is a cost that is not known. Set prices to estimate it:  rookery stats --help"
_ESTIMATE = f"{ESTIMATED} is a cost that was estimated with the prices of your configuration."


@dataclass(frozen=True, slots=True)
class StatisticsTable:
    statistics: StatisticsInfo
    all_days: bool = False  #: list every day, not only the last ones

    def lines(self, width: int) -> list[str]:
        found = self.statistics
        lines = [line for text in _summary(found) for line in wrapped(text, width)]
        lines += ["", *_table("AGENT", [*found.agents, *_total(found)], width)]
        return [*lines, "", *_table("DAY", self._days, width, has_bars=True)]

    def notes(self) -> Iterator[str]:
        """Yield what the signs mean, and the commands that show more."""
        found = self.statistics
        if left_out := len(found.days) - len(self._days):
            days = count(left_out, "earlier day")
            yield f"{days} left out. Show them:  rookery stats --days 365"
        if found.estimated_cost:
            yield _ESTIMATE
        if any(each.cost_usd is None and each.tokens for each in found.agents):
            yield _NO_PRICE

    @property
    def _days(self) -> tuple[UsageSumInfo, ...]:
        days = self.statistics.days
        return days if self.all_days else days[-DEFAULT_DAYS:]


def _summary(found: StatisticsInfo) -> Iterator[str]:
    others = f", {found.found} found" if found.found else ""
    launched = f"{count(found.launched, 'session')} launched{others}"
    yield f"{launched}, {found.live} live, {count(found.turns, 'turn')}"
    if found.average_seconds is not None:
        ended = ", ".join(
            f"{found.by_status[each]} {words}"
            for each, words in _ENDED.items()
            if each in found.by_status
        )
        average = duration(found.average_seconds)
        yield f"Ended: {ended}; {duration(found.total_seconds)} in all, {average} on average"
    if found.most_expensive:
        yield f"Most expensive: {_expense(found.most_expensive)}"


def _expense(expense: ExpenseInfo) -> str:
    cost = cost_text(expense.cost_usd, estimated=expense.estimated_cost > 0)
    known = [cost] if expense.cost_usd is not None else []
    return ", ".join([one_line(expense.name), *known, f"{short_count(expense.tokens)} tokens"])


def _total(found: StatisticsInfo) -> list[UsageSumInfo]:
    """Return the row of totals; no row if there are fewer than two agents."""
    if len(found.agents) < 2:  # noqa: PLR2004 - one row is its own sum
        return []
    return [
        UsageSumInfo(
            label="all",
            launched=found.launched,
            found=found.found,
            turns=found.turns,
            input_tokens=found.input_tokens,
            output_tokens=found.output_tokens,
            cost_usd=found.cost_usd,
            estimated_cost=found.estimated_cost,
        )
    ]


def _table(
    title: str, used: Sequence[UsageSumInfo], width: int, *, has_bars: bool = False
) -> list[str]:
    """Return the lines of a table, with bars to the right of it if there is room."""
    if not used:  # a daemon of an earlier version sends none
        return []
    rows = [_cells(title, each) for each in used]
    widths = _fit([dict(zip(rows[0], rows[0], strict=True)), *rows], width, has_bars=has_bars)
    room = width - sum(widths.values()) - GAP_CELLS * len(widths)
    bars = [""] * len(used)
    if has_bars and room >= MIN_BAR_CELLS:
        bars = _bars(used, min(room, MAX_BAR_CELLS))
    head = _line({each: each for each in widths}, widths)
    gap = " " * GAP_CELLS
    return [
        head,
        *(
            f"{_line(row, widths)}{gap}{drawn}".rstrip()
            for row, drawn in zip(rows, bars, strict=True)
        ),
    ]


def _cells(title: str, used: UsageSumInfo) -> dict[str, str]:
    return {
        title: one_line(used.label),
        "SESSIONS": f"{used.sessions:,}",
        "TURNS": f"{used.turns:,}",
        "INPUT": short_count(used.input_tokens) if used.tokens else "–",
        "OUTPUT": short_count(used.output_tokens) if used.tokens else "–",
        "COST": cost_text(used.cost_usd, estimated=used.estimated_cost > 0),
    }


def _fit(rows: Sequence[Mapping[str, str]], width: int, *, has_bars: bool) -> dict[str, int]:
    """Return the width of each visible column by its title."""
    widths = {title: max(cells(row[title]) for row in rows) for title in rows[0]}
    wanted = width - (MIN_BAR_CELLS + GAP_CELLS if has_bars else 0)
    for spared in _SPARED:
        if sum(widths.values()) + GAP_CELLS * (len(widths) - 1) <= wanted:
            break
        del widths[spared]
    return widths


def _line(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    """Return a row with its first cell aligned to the left and its numbers to the right."""
    (label, first), *numbers = widths.items()
    start = cut(row[label], first)
    start += " " * (first - cells(start))
    gap = " " * GAP_CELLS
    return gap.join([start, *(row[title].rjust(size) for title, size in numbers)])


def _bars(used: Sequence[UsageSumInfo], width: int) -> list[str]:
    """Return a bar for each row: of its cost, or of its tokens if no row has a cost."""
    costs = [each.cost_usd or 0.0 for each in used]
    amounts = costs if any(costs) else [float(each.tokens) for each in used]
    drawn = [bar(each, max(amounts), width) for each in amounts]
    return (
        [click.style(each, fg="cyan") if each else "" for each in drawn]
        if is_colourful()
        else drawn
    )
