"""Apply each fact to the rows, in order: session, messages, turns, usage.

This is part of writing the fact, not a reaction of a reader: readers may rely on it,
regardless of the order in which they run.
"""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION, Fact, UsageReported
from rookery.model.lifecycle import Activity
from rookery.store import messages, session_changes, turn_changes, usage
from rookery.store.turn_changes import FactContext


def project(db: Connection, fact: Fact, *, seq: int, at: datetime) -> None:
    """Apply a fact that was just written as the entry ``seq``."""
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
        # The usage of a session's last turn is known only after the session has ended.
        usage.project(db, fact)
