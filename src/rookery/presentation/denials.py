"""Word who or what denied a tool call."""

from __future__ import annotations

from rookery.model.actors import CLOCK

#: Who denies a call other than a session; a rule has a name.
_BY = {
    "person": "by you",
    "terminal": "in its terminal",
    CLOCK: "as no answer came in time",
}


def denial(denied_by: str, rule: str = "") -> str:
    """Return that a call was denied, and by whom; empty if it was not."""
    if not denied_by:
        return ""
    if rule:
        return f"denied by the rule {rule}"
    return f"denied {_BY.get(denied_by, f'by {denied_by}')}"
