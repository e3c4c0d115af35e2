"""Take in the end of a turn as an agent's stop hook tells it."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import Noted, QueueTaken, TurnEnded
from rookery.model.lifecycle import Activity
from rookery.store import sessions, turn_changes
from rookery.store.journal import Journal


def write(db: Connection, journal: Journal, ended: TurnEnded, *, at: datetime) -> None:
    """Write that a turn ended, unless it was ended before; and that queued prompts come next.

    A hook that waited in the spool may come after the end of its turn was seen by other means.
    """
    session = sessions.get(db, ended.session)
    if turn_changes.is_late(db, ended):
        amended = turn_changes.amend(db, ended, at=at)
        # Listeners that were told of an interruption are corrected, while no other turn runs.
        is_news = amended and session.activity is Activity.IDLE
        late = Noted(ended.session, "Stop", "it came late")
        journal.append(db, ended if is_news else late, at=at)
        return
    journal.append(db, ended, at=at)
    if not session.status.is_over and turn_changes.goes_on(db, ended.session):
        # No prompt hook tells that the agent goes on with what was typed during its turn.
        journal.append(db, QueueTaken(ended.session), at=at)
