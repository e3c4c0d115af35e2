"""Turn what happens to sessions into notifications. It writes rows and sends nothing."""

from __future__ import annotations

from sqlite3 import Connection

from rookery.model import facts
from rookery.model.actors import PERSON, RUN
from rookery.model.facts import Fact, SessionId
from rookery.model.lifecycle import Status
from rookery.model.messages import EXPIRY
from rookery.model.notifications import (
    END,
    START,
    NotificationKind,
    SessionOutcome,
    kind_of_failure,
    safe_text,
)
from rookery.model.permissions import RequestId
from rookery.model.reason_texts import first_line
from rookery.store import notifications, requests, sessions, turn_changes, turns
from rookery.store.journal import Entry, Reader


def react(db: Connection, entry: Entry) -> None:  # noqa: C901 - a table
    """Add a notification if an entry reports an outcome that a channel carries."""
    if not notifications.has_channels(db):
        return
    match entry.fact:
        case facts.SessionStarted(session):
            _note_start(db, entry, session)
        case facts.InputAsked():
            _note_request(db, entry, entry.fact)
        case facts.TurnEnded(fails_session=True):
            pass  # the session's end, which follows, is notified instead
        case facts.TurnEnded(session, words, "finished"):
            if not turn_changes.goes_on(db, session) and not _has_parent(db, session):
                _add(db, entry, NotificationKind.FINISHED, _turn(db, entry), words)
        case facts.TurnEnded(_, words, "failed"):
            _add(db, entry, kind_of_failure(words), _turn(db, entry), words)
        case facts.SessionEnded(session):
            _note_end(db, entry, session)
        case facts.OverlapFound(_, other, path):
            name = sessions.get(db, SessionId(other)).name
            text = f"{name} also changed {path}"
            _add(db, entry, NotificationKind.OVERLAP, f"{other} {path}", text)
        case facts.MessageWithdrawn(_, number, by) if by == EXPIRY:
            text = f"message {number} expired before it could be sent"
            _add(db, entry, NotificationKind.FAILED, f"message {number}", text)
        case _:
            pass


READER = Reader(
    frozenset[type[Fact]](
        {
            facts.SessionStarted,
            facts.InputAsked,
            facts.TurnEnded,
            facts.SessionEnded,
            facts.OverlapFound,
            facts.MessageWithdrawn,
        }
    ),
    react,
)


def _note_request(db: Connection, entry: Entry, asked: facts.InputAsked) -> None:
    found = requests.find(db, RequestId(asked.request)) if asked.request else None
    text = found.message if found else asked.message
    # A dialog without a request has no id: the number of the entry identifies it.
    subject = asked.request or str(entry.seq)
    _add(db, entry, NotificationKind.NEEDS_YOU, subject, text)


def _note_start(db: Connection, entry: Entry, session: SessionId) -> None:
    started = sessions.get(db, session)
    if started.is_ours:
        _add(db, entry, NotificationKind.STARTED, START, started.first_prompt)


def _note_end(db: Connection, entry: Entry, session: SessionId) -> None:
    ended = sessions.get(db, session)
    reason = first_line(ended.reason)
    if ended.status is not Status.FAILED:
        if ended.ended_by in {str(PERSON), RUN}:
            return  # the person, or their `rookery run`, has ended it
        kind = NotificationKind.ENDED
    elif ended.is_over_budget:
        kind = NotificationKind.LIMIT
    else:
        kind = kind_of_failure(reason)
    _add(db, entry, kind, END, reason)


def _has_parent(db: Connection, session: SessionId) -> bool:
    """Return whether another session started this one, and so gets its answers."""
    return sessions.get(db, session).parent is not None


def _turn(db: Connection, entry: Entry) -> str:
    """Return the number of the turn that ended; if it is unknown, that of the entry."""
    return str(turns.last_ended(db, entry.fact.session) or entry.seq)


def _add(db: Connection, entry: Entry, kind: NotificationKind, subject: str, text: str) -> None:
    outcome = SessionOutcome(entry.fact.session, kind, subject, safe_text(text), entry.at)
    notifications.add(db, outcome)
