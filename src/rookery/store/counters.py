"""Count events for metrics, beyond the deletion of the rows that record them."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

from rookery.model import facts
from rookery.model.facts import Fact

#: The facts that are counted.
PROJECTED: frozenset[type[Fact]] = frozenset(
    {facts.MessageWritten, facts.InputAsked, facts.CallDecided, facts.ToolCalled}
)


def project(db: Connection, fact: Fact) -> None:
    """Count a fact."""
    match fact:
        case facts.MessageWritten():
            add(db, "messages_written")
        case facts.InputAsked(kind=kind):
            add(db, "requests_asked", kind)
        case facts.CallDecided(decision=decision, rule=rule):
            add(db, "calls_ruled" if rule else "requests_answered", decision)
        case facts.ToolCalled():
            add(db, "tools_called")
        case _:
            pass


def add(db: Connection, name: str, label: str = "") -> None:
    """Increment a counter. Labels come from a fixed set, never from names or texts."""
    db.execute(
        "insert into counters values (?, ?, 1) on conflict do update set value = value + 1",
        (name, label),
    )


def read(db: Connection) -> Mapping[tuple[str, str], int]:
    """Return every counter by its name and label."""
    return {
        (row["name"], row["label"]): row["value"]
        for row in db.execute("select * from counters")
    }
