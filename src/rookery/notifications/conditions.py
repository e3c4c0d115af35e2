"""Decide whether a notification is still worth sending."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from sqlite3 import Connection

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.notifications import NotificationItem, NotificationKind
from rookery.model.permissions import Outcome, RequestId
from rookery.store import notifications, requests, sessions

#: The reason why a session to which a person is attached is not announced.
ATTACHED = "you are attached to this session"

MUTED = "the session is muted"


def why_skip(db: Connection, item: NotificationItem, *, now: datetime) -> str:
    """Return why a notification is not to be sent; empty if it is."""
    if item.session in (muted := notifications.mutes(db, now=now)):
        return muted_text(muted, item.session)
    session = sessions.get(db, item.session)
    if item.kind is NotificationKind.NEEDS_YOU:
        request = requests.find(db, RequestId(item.subject))
        if request and request.outcome is not Outcome.OPEN:
            return f"it was {request.outcome} before this was sent"
        if not session.is_asking:
            return "it no longer waits"
    elif item.kind is NotificationKind.FINISHED and session.activity is Activity.WORKING:
        return "it works again"
    return ""


def muted_text(muted: Mapping[SessionId, datetime | None], session: SessionId) -> str:
    until = muted[session]
    return f"{MUTED} until {until.isoformat(timespec='minutes')}" if until else MUTED
