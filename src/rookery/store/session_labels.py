"""Store what a person says about sessions: tags, and whether they are hidden."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model import facts
from rookery.model.facts import Fact, SessionId

#: The facts that change the labels of a session, also of one that is over.
PROJECTED: frozenset[type[Fact]] = frozenset(
    {facts.SessionTagged, facts.SessionHidden, facts.SessionUnhidden}
)


def project(db: Connection, fact: Fact) -> None:
    """Apply a fact to the labels of its session."""
    match fact:
        case facts.SessionTagged(session, tags):
            set_tags = "update sessions set tags = ? where id = ?"
            db.execute(set_tags, (" ".join(tags), session))
        case facts.SessionHidden(session):
            _set_hidden(db, session, hidden=True)
        case facts.SessionUnhidden(session):
            _set_hidden(db, session, hidden=False)
        case _:
            pass


def _set_hidden(db: Connection, session: SessionId, *, hidden: bool) -> None:
    db.execute("update sessions set hidden = ? where id = ?", (hidden, session))
