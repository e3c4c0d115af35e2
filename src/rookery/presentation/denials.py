"""Word who or what denied a tool call, and why one failed."""

from __future__ import annotations

from rookery.model.actors import CLOCK

#: Phrases for the actors, other than sessions, that deny calls; a rule is named instead.
_BY = {
    "person": "by you",
    "terminal": "in its terminal",
    CLOCK: "as no answer came in time",
}


def call_problem(denied_by: str, rule: str, failure: str) -> str:
    """Return a phrase on who or what denied a call, or why it failed; empty if it ran."""
    failed = "failed" if failure in {"", "failed"} else f"failed: {failure}"
    return denial(denied_by, rule) or (failed if failure else "")


def denial(denied_by: str, rule: str = "") -> str:
    """Return a phrase on who or what denied a call; empty if it was not denied."""
    if not denied_by:
        return ""
    if rule:
        return f"denied by the rule {rule}"
    return f"denied {_BY.get(denied_by, f'by {denied_by}')}"
