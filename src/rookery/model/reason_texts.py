"""The reasons that are recorded for the states of sessions, in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Introduces the last screen of a program that has exited, below the reason of its end.
SCREEN_AT_END = "its screen ended with:"


def waits_for_place(limit: int) -> str:
    """Return why a start waits at the limit of driven sessions, and what to do."""
    live = "1 driven session is" if limit == 1 else f"{limit} driven sessions are"
    return (
        f"it waits for a place: {live} live, which is limits.driven_sessions."
        " End one, also an idle one, to free a place"
    )


def first_line(reason: str) -> str:
    """Return the first line of a reason, without the introduction to a screen below it."""
    line = reason.strip().partition("\n")[0]
    # A clause that ends in a colon introduces the screen.
    return (line.rpartition("; ")[0] or line) if line.endswith(":") else line


def with_last_output(reason: str) -> str:
    """Return the first line of a reason with the line of the program's output that explains it.

    That line is the program's own text, so the result is only for people to read.
    """
    first, _, screen = reason.strip().partition("\n")
    if not first.endswith(SCREEN_AT_END):
        return first_line(reason)
    texts = (" ".join(line.split()) for line in screen.splitlines())
    said = [each for each in texts if any(map(str.isalnum, each))]
    return f"{first_line(reason)}: {_telling_line(said)}" if said else first_line(reason)


#: Last lines of a program's output in which its error is looked for.
MAX_ERROR_LINES = 10

#: The beginning of a line that names an error. Usage and advice may follow it.
_ERROR = re.compile(r"\W*(?:fatal |unexpected )?(?:error|fatal)\b", re.IGNORECASE)


def _telling_line(lines: Sequence[str]) -> str:
    """Return the first of the last lines that names an error, else the last line."""
    return next(filter(_ERROR.match, lines[-MAX_ERROR_LINES:]), lines[-1])


#: Characters of a tool's error that are kept as the reason of its failure.
MAX_FAILURE_CHARACTERS = 200


def failure_text(error: str) -> str:
    """Return why a tool call failed, in one line, from the beginning of its error."""
    return in_one_line(error[: 2 * MAX_FAILURE_CHARACTERS])[:MAX_FAILURE_CHARACTERS] or "failed"


def in_one_line(text: str) -> str:
    """Return a text in one line, with a symbol for each line break.

    Without it, the second line of a command would read as part of a comment in the first.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return " ↵ ".join(line for line in lines if line)
