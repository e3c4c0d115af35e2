"""What each fact changes in the rows, in order: session, messages, turns, usage.

It is part of writing the fact, not a decision of a reader: readers may rely on it in whatever
order they run.
"""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION, Fact, UsageReported
from rookery.model.lifecycle import Activity
from rookery.store import messages, session_changes, turn_changes, usage
from rookery.store.turn_changes import FactContext


def project(db: Connection, fact: Fact, *, seq: int, at: datetime) -> None:
    """Change the rows as a fact says that was just entered under a number."""
    if fact.session == NO_SESSION:
        return
    before = session_changes.project(db, fact, at=at)
    if before is not None:
        parcel = messages.project(db, seq, fact)
        if type(fact) in turn_changes.PROJECTED:
            was_idle = before.activity is Activity.IDLE
            turn_changes.project(db, fact, FactContext(seq, at, was_idle, parcel))
        usage.project(db, fact)
    elif isinstance(fact, UsageReported):
        # What the last turn of a session used is known only once the session is over.
        usage.project(db, fact)
