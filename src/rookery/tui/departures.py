"""What became of messages a moment after they were sent, in the words of ``rookery send``."""

from __future__ import annotations

from collections.abc import Sequence

from rookery.client import Client
from rookery.client.messages import MessageInfo, await_departure
from rookery.client.sessions import SessionInfo
from rookery.model.errors import RookeryError
from rookery.presentation.deliveries import delivery_text

#: Steps in which a message has reached its session.
_ARRIVED = frozenset({"submitted", "acknowledged"})


def departures_text(
    daemon: Client, sessions: Sequence[SessionInfo], messages: Sequence[MessageInfo]
) -> str:
    """Return which sessions got their message, and what became of the others."""
    arrived, notes = list[str](), list[str]()
    for session, message in zip(sessions, messages, strict=True):
        if note := _problem(daemon, message):
            notes.append(f"{session.name}: {note}")
        else:
            arrived.append(session.name)
    sent = [f"Sent to {', '.join(arrived)}."] if arrived else []
    return " ".join([*sent, *notes])


def _problem(daemon: Client, sent: MessageInfo) -> str:
    """Return why a message has not arrived; empty if it has."""
    try:
        now = await_departure(daemon, sent.id)
    except RookeryError:  # it is sent: an error must not have the user send it again
        return f"Queued ({sent.id})."
    if now.message.step in _ARRIVED:
        return ""
    return delivery_text(now.message, now.session, held=now.holding)
