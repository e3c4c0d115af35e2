"""Apply each fact to the rows, in order: messages, session, turns, usage.

This is part of writing the fact, not a reaction of a reader: readers may rely on it,
regardless of the order in which they run.
"""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION, Fact, UsageReported
from rookery.model.lifecycle import Activity
from rookery.store import (
    message_batches,
    session_changes,
    session_labels,
    turn_changes,
    usage,
)
from rookery.store.turn_changes import FactContext


def project(db: Connection, fact: Fact, *, seq: int, at: datetime) -> None:
    """Apply a fact that was just written as the entry ``seq``."""
    if fact.session == NO_SESSION:
        return
    before = session_changes.read(db, fact.session)
    # The usage of a session's last turn is known only after the session has ended.
    is_late = before.state.status.is_over
    if not is_late:
        parcel = message_batches.project(db, seq, fact)
        session_changes.project(db, fact, before, at=at, parcel=parcel)
        if type(fact) in turn_changes.PROJECTED:
            was_idle = before.state.activity is Activity.IDLE
            turn_changes.project(db, fact, FactContext(seq, at, was_idle, parcel))
    if type(fact) in session_labels.PROJECTED:
        session_labels.project(db, fact)
    if type(fact) in usage.PROJECTED and (not is_late or isinstance(fact, UsageReported)):
        usage.project(db, fact, at=at)
