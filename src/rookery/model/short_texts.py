"""Cut long texts, and say how much is left out."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text, and how many more there are."""
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit]}… ({left_out:,} more characters)"
