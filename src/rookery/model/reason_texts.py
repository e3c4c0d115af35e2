"""The reasons that are recorded for the states of sessions."""

from __future__ import annotations


def first_line(reason: str) -> str:
    """Return the first line of a reason, without the introduction to a screen below it."""
    line = reason.strip().partition("\n")[0]
    # A clause that ends in a colon introduces the screen.
    return (line.rpartition("; ")[0] or line) if line.endswith(":") else line
