"""Process the end of a turn as reported by an agent's stop hook."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import Noted, QueueTaken, TurnEnded
from rookery.model.lifecycle import Activity
from rookery.store import sessions, turn_changes
from rookery.store.journal import Journal


def write(db: Connection, journal: Journal, ended: TurnEnded, *, at: datetime) -> None:
    """Record that a turn ended, unless it had ended before, and that queued prompts follow.

    A hook that waited in the spool may arrive after the turn's end was seen by other means.
    """
    session = sessions.get(db, ended.session)
    if turn_changes.is_late(db, ended):
        amended = turn_changes.amend(db, ended, at=at)
        # Correct listeners that were notified of an interruption, while no other turn runs.
        is_news = amended and session.activity is Activity.IDLE
        late = Noted(ended.session, "Stop", "it came late")
        journal.append(db, ended if is_news else late, at=at)
        return
    journal.append(db, ended, at=at)
    if not session.status.is_over and turn_changes.goes_on(db, ended.session):
        # No prompt hook reports that the agent continues with prompts typed during its turn.
        journal.append(db, QueueTaken(ended.session), at=at)
