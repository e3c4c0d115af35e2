"""What a view that stays open reads: sessions that changed, and conversations."""

from __future__ import annotations

from collections.abc import Iterable

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo, SessionList
from rookery.client.transport import Client
from rookery.client.turns import TurnInfo

#: Sessions that are requested at once; the daemon takes up to 1,000.
MAX_IDS_PER_REQUEST = 500


class PassageInfo(DaemonAnswer, frozen=True):
    """A part of a conversation as the agent recorded it."""

    at: str = ""
    kind: str = ""
    text: str = ""
    denied_by: str = ""
    rule: str = ""
    failed: bool = False


class ConversationInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    turns: tuple[TurnInfo, ...] = ()
    omitted: int = 0
    transcript: tuple[PassageInfo, ...] = ()
    screen: str = ""


def list_changed(daemon: Client, ids: Iterable[str]) -> SessionList:
    """List the sessions with these ids, at most ``MAX_IDS_PER_REQUEST``."""
    return read(SessionList, daemon.get("sessions", ids=tuple(ids)))


def show_session_data(daemon: Client, session: str, *, characters: int) -> ConversationInfo:
    """Return the end of a conversation: turns, and what else the agent recorded."""
    return read(
        ConversationInfo, daemon.get("sessions", session, "data", tail_chars=characters)
    )
