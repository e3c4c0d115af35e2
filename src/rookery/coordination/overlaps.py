"""Overlaps: record that two sessions changed the same file, and tell their agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection

from rookery.coordination.notices import News, queue_news
from rookery.model.actors import LISTENERS
from rookery.model.facts import Fact, OverlapFound, SessionEnded, SessionId
from rookery.model.overlaps import FileInRepository
from rookery.store import flags, overlaps, session_families, sessions
from rookery.store.journal import Entry, Journal, Reader

#: The subject of the message in its envelope.
ABOUT = "a file that two sessions change"

_WORDS = (
    "{who} has also changed {path} in this repository. Its version may differ from yours:"
    " check before you overwrite it, and keep your change small."
)


def note_edits(
    db: Connection,
    journal: Journal,
    session: SessionId,
    files: Sequence[FileInRepository],
    *,
    at: datetime,
) -> None:
    """Record the files that a session has changed, and each new overlap with another."""
    if not files or not sessions.is_live(db, session):
        return
    for file in files:
        for other in overlaps.note_edit(db, session, file, at=at):
            journal.append(db, OverlapFound(session, other, file.path, file.repository), at=at)


def react(db: Connection, entry: Entry) -> None:
    """Tell both agents about an overlap, if that is configured; forget ended sessions."""
    match entry.fact:
        case OverlapFound() if flags.tells_agents_of_overlaps(db):
            _tell_agents(db, entry.fact, cause=entry.seq)
        case SessionEnded(session):
            overlaps.forget_edits(db, session)
        case _:
            pass


READER = Reader(frozenset[type[Fact]]({OverlapFound, SessionEnded}), react)


def _tell_agents(db: Connection, fact: OverlapFound, *, cause: int) -> None:
    other = SessionId(fact.other)
    for reader, about in ((fact.session, other), (other, fact.session)):
        if sessions.get(db, reader).can_receive:
            who = _who(db, reader, about)
            words = _WORDS.format(who=who, path=fact.path)
            queue_news(db, reader, News(words, ABOUT, LISTENERS, cause))


def _who(db: Connection, reader: SessionId, about: SessionId) -> str:
    """Return the name of a session, if the other one may know it."""
    if session_families.may_read(db, reader, about):
        return f"Session {sessions.get(db, about).name}"
    return "Another session"
