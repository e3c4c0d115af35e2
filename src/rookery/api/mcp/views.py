"""Sessions as agents see them: only what an agent needs to know about another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity, Status
from rookery.model.reason_texts import first_line
from rookery.model.sessions import Session

#: The advice after a call that makes another session work for the caller.
TOLD = (
    "You are told here when it has finished, needs input or has ended."
    " End your turn now; do not wait, sleep or poll."
)
#: The advice after a message to a session that the caller already waits for.
WAITS_ALREADY = (
    "You already wait for this session, and are notified once: about your first request."
    " End your turn now; do not wait, sleep or poll."
)
#: The advice to a caller that cannot be notified.
NOT_TOLD = "Rookery cannot write to you, so nothing tells you; look with get_session_data."
#: The advice after a message that connects the two sessions.
TALK = "What it answers is sent to you here as it comes. End your turn now; do not poll."


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session."""

    session_id: SessionId
    name: str
    title: str
    computer: str
    agent: str
    project: str
    status: Status  #: starting, running, closing; or over: completed, failed, killed
    activity: Activity | None  #: while it runs: working, idle, or it asks for something
    reason: str
    since: datetime
    last_activity: datetime
    parent: SessionId | None  #: the session that started it
    children: list[SessionId]  #: the listed sessions that it started
    is_you: bool


def view_all(
    selected: Sequence[Session], listed: Sequence[Session], caller: SessionId | None
) -> list[SessionView]:
    children: dict[SessionId | None, list[SessionId]] = {}
    for each in listed:
        children.setdefault(each.parent, []).append(each.id)
    return [view_one(each, children.get(each.id, []), caller) for each in selected]


def view_one(
    session: Session, children: list[SessionId], caller: SessionId | None
) -> SessionView:
    return SessionView(
        session_id=session.id,
        name=session.name,
        title=session.title,
        computer=session.computer,
        agent=session.agent,
        project=session.project_path,
        status=session.status,
        activity=session.activity,
        reason=first_line(session.reason),
        since=session.since,
        last_activity=session.last_activity_at,
        parent=session.parent,
        children=children,
        is_you=session.id == caller,
    )
