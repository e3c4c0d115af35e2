"""Tell a person that a turn has been running for long. It writes rows and sends nothing."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model import facts
from rookery.model.facts import Fact
from rookery.model.notifications import NotificationKind, SessionOutcome, safe_text
from rookery.store import notifications, turns
from rookery.store.journal import Entry, Reader


def react(db: Connection, entry: Entry) -> None:
    """Add a waiting notification about the running turn; drop that of a turn that is over."""
    if not notifications.has_channels(db):
        return
    session = entry.fact.session
    if not isinstance(entry.fact, facts.TurnStarted):
        notifications.drop_waiting(db, session, NotificationKind.LONG_TURN)
    if turn := turns.first_open(db, session):
        kind, text = NotificationKind.LONG_TURN, safe_text(turn.prompt)
        outcome = SessionOutcome(session, kind, str(turn.number), text, entry.at)
        notifications.add(db, outcome)


READER = Reader(
    frozenset[type[Fact]]({facts.TurnStarted, facts.TurnEnded, facts.SessionEnded}), react
)
