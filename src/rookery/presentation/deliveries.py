"""Word what became of a message, and why it waits."""

from __future__ import annotations

from enum import StrEnum

from rookery.client.messages import MessageInfo
from rookery.client.sessions import SessionInfo
from rookery.model.reason_texts import first_line
from rookery.presentation.states import does

#: Shown where a user may wonder why no message arrives.
HELD = "Deliveries are on hold. Resume them with:  rookery release"


class UrgentWay(StrEnum):
    """How an urgent message reaches a turn that was running when it was sent."""

    NONE = ""  #: it is not urgent, or no turn was running
    STEER = "steer"  #: it is typed into the turn
    INTERRUPT = "interrupt"  #: the turn is interrupted first


_SENT = {
    UrgentWay.NONE: "Sent.",
    UrgentWay.STEER: "Sent into the turn that is running.",
    UrgentWay.INTERRUPT: "Sent. The turn that was running was interrupted for it.",
}


def why_blocked(session: SessionInfo, obstacle: str) -> str:
    """Return why a message for a session waits."""
    if session.is_asking:
        return f"it {does(session.state)} ({first_line(session.reason)})."
    match session.state:
        case "working":
            return "it is working; the message is delivered when it stops."
        case "starting":
            return "it is starting; the message is delivered when it is up."
        case _:
            return obstacle or "it is being delivered."


def delivery_text(
    message: MessageInfo,
    session: SessionInfo,
    *,
    held: bool = False,
    way: UrgentWay = UrgentWay.NONE,
) -> str:
    """Return what became of a message, a moment after it was sent."""
    match message.step:
        case "submitted" | "acknowledged":
            return _SENT[way]
        case "unsure":
            return "Sent; it may not have arrived."
        case "withdrawn":
            return "Withdrawn."
        case "failed":
            return f"Not delivered: {message.blocked_by or 'the session has ended.'}"
        case "pending" if held:
            return f"Queued ({message.id}). {HELD}"
        case _:
            return f"Queued ({message.id}): {_why_queued(message, session, way)}"


def _why_queued(message: MessageInfo, session: SessionInfo, way: UrgentWay) -> str:
    is_working = session.state == "working"
    if is_working and way is UrgentWay.INTERRUPT:
        return "its turn is being interrupted; the message is delivered then."
    if is_working and way is UrgentWay.STEER:
        return message.blocked_by or "it is typed into the turn that is running."
    return why_blocked(session, message.blocked_by)
