"""Word amounts for people: tokens, money and durations."""

from __future__ import annotations

_MILLION, _THOUSAND = 1_000_000, 1_000

#: Precedes a cost of which a part was computed from configured prices.
ESTIMATED = "~"

#: Dollars below which two digits after the point say too little.
SMALL_COST_USD = 0.01


def short_count(number: int) -> str:
    """Return a large number in thousands or millions, such as 1.2k."""
    for size, unit in ((_MILLION, "M"), (_THOUSAND, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def cost_text(cost_usd: float | None, *, estimated: bool = False) -> str:
    """Return a cost in dollars; a dash if it is unknown."""
    if cost_usd is None:
        return "–"
    digits = 4 if 0 < cost_usd < SMALL_COST_USD else 2
    return f"{ESTIMATED if estimated else ''}${cost_usd:,.{digits}f}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
