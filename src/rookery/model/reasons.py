"""The reasons that sessions give for their state."""

from __future__ import annotations


def first_line(reason: str) -> str:
    """Return what a reason says before it shows a screen."""
    line = reason.strip().partition("\n")[0]
    # What ends in a colon leads over to the screen.
    return (line.rpartition("; ")[0] or line) if line.endswith(":") else line
