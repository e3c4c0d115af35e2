"""The reasons that are recorded for the states of sessions, in one line."""

from __future__ import annotations


def first_line(reason: str) -> str:
    """Return the first line of a reason, without the introduction to a screen below it."""
    line = reason.strip().partition("\n")[0]
    # A clause that ends in a colon introduces the screen.
    return (line.rpartition("; ")[0] or line) if line.endswith(":") else line


def in_one_line(text: str) -> str:
    """Return a text in one line, with a symbol for each line break.

    Without it, the second line of a command would read as part of a comment in the first.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return " ↵ ".join(line for line in lines if line)
