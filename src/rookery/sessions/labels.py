"""Commands on the labels of sessions, live or over: tag, hide, unhide."""

from __future__ import annotations

from collections.abc import Iterable
from sqlite3 import Connection

from rookery.model.facts import SessionHidden, SessionId, SessionTagged, SessionUnhidden
from rookery.model.labels import checked_tags
from rookery.store import sessions
from rookery.store.journal import Journal


def tag(
    db: Connection,
    journal: Journal,
    session: SessionId,
    *,
    add: Iterable[str],
    remove: Iterable[str],
) -> None:
    """Add tags to a session and remove others. Raises ``BadInput`` if a word is no tag."""
    before = sessions.get(db, session).tags
    tags = checked_tags({*before, *add} - {*remove})
    if tags != before:
        journal.append(db, SessionTagged(session, tags))


def hide(db: Connection, journal: Journal, session: SessionId) -> None:
    """Leave a session out of lists while it needs no person."""
    if not sessions.get(db, session).hidden:
        journal.append(db, SessionHidden(session))


def unhide(db: Connection, journal: Journal, session: SessionId) -> None:
    """List a session again."""
    if sessions.get(db, session).hidden:
        journal.append(db, SessionUnhidden(session))
