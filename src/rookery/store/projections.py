"""Apply each fact to the rows: counters, messages, session, turns, labels, usage, blocks.

This is part of writing the fact, not a reaction of a reader: readers may rely on it,
regardless of the order in which they run.
"""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import NO_SESSION, Fact, UsageReported
from rookery.model.lifecycle import Activity
from rookery.model.sessions import traits_of
from rookery.store import (
    block_changes,
    counters,
    message_batches,
    session_changes,
    session_labels,
    turn_changes,
    usage,
)
from rookery.store.session_changes import SessionRow
from rookery.store.turn_changes import FactContext


def project(db: Connection, fact: Fact, *, seq: int, at: datetime) -> None:
    """Apply a fact that was just written as the entry ``seq``."""
    if fact.session == NO_SESSION:
        return
    if type(fact) in counters.PROJECTED:
        counters.project(db, fact)
    before = session_changes.read(db, fact.session)
    # The usage of a session's last turn is known only after the session has ended.
    is_late = before.state.status.is_over
    is_of_turn = not is_late and _project_state(db, fact, before, seq=seq, at=at)
    if type(fact) in session_labels.PROJECTED:
        session_labels.project(db, fact)
    if is_late and not isinstance(fact, UsageReported):
        return
    if type(fact) in usage.PROJECTED:
        usage.project(db, fact, at=at)
    # The stream of a driven session reports its output with more detail than its facts.
    if type(fact) in block_changes.PROJECTED and not traits_of(before.runtime).is_driven:
        block_changes.project(db, fact, at=at, is_of_turn=is_of_turn)


def _project_state(
    db: Connection, fact: Fact, before: SessionRow, *, seq: int, at: datetime
) -> bool:
    """Apply a fact to its session, its messages and turns.

    Returns whether a turn took the prompt or the answer that the fact reports.
    """
    parcel = message_batches.project(db, seq, fact)
    session_changes.project(db, fact, before, at=at, parcel=parcel)
    if type(fact) not in turn_changes.PROJECTED:
        return False
    was_idle = before.state.activity is Activity.IDLE
    return turn_changes.project(db, fact, FactContext(seq, at, was_idle, parcel))
