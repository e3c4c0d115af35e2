"""Bars of a chart, drawn with block characters in eighths of a cell."""

from __future__ import annotations

_WHOLE, _PARTS = "█", ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def bar(amount: float, most: float, width: int) -> str:
    """Return a bar for an amount; the one for ``most`` fills the width."""
    if amount <= 0 or most <= 0 or width <= 0:
        return ""
    # The smallest amount is still visible.
    eighths = max(1, round(amount / most * width * 8))
    whole, part = divmod(eighths, 8)
    return _WHOLE * whole + _PARTS[part]
