"""Decide whether a notification is still worth sending."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.notifications import NotificationItem, NotificationKind
from rookery.model.permissions import Outcome, RequestId
from rookery.model.sessions import Session
from rookery.store import notifications, requests, sessions

#: The reason why a session to which a person is attached is not announced.
ATTACHED = "you are attached to this session"

MUTED = "the session is muted"


def why_skip(db: Connection, item: NotificationItem, *, now: datetime) -> str:
    """Return why a notification must not be sent any more; empty if it may be sent."""
    if item.session in (muted := notifications.mutes(db, now=now)):
        return muted_text(muted, item.session)
    session = sessions.get(db, item.session)
    if item.kind is NotificationKind.NEEDS_YOU:
        return _why_answered(db, session, RequestId(item.subject))
    if item.kind is NotificationKind.FINISHED and session.activity is Activity.WORKING:
        return "it works again"
    if item.kind is NotificationKind.LONG_TURN and session.activity is not Activity.WORKING:
        return "it waits for you" if session.is_asking else "its turn is over"
    return ""


def _why_answered(db: Connection, session: Session, request_id: RequestId) -> str:
    """Return why a person need not answer any more; empty if they must."""
    # A session with several open requests may look busy after the first answer.
    if request := requests.find(db, request_id):
        is_open = request.outcome is Outcome.OPEN and not session.status.is_over
        return "" if is_open else f"it was {request.outcome} before this was sent"
    return "" if session.is_asking else "it no longer waits"


def muted_text(muted: Mapping[SessionId, datetime | None], session: SessionId) -> str:
    until = muted[session]
    return f"{MUTED} until {until.isoformat(timespec='minutes')}" if until else MUTED
