"""Labels of sessions: tags, and which sessions are hidden."""

from __future__ import annotations

from collections.abc import Iterable

from rookery.client.decoding import read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client


def tag_session(
    daemon: Client, session: str, *, add: Iterable[str], remove: Iterable[str]
) -> SessionInfo:
    tags = {"add": list(add), "remove": list(remove)}
    return read(SessionInfo, daemon.post("sessions", session, "tags", **tags))


def hide_session(daemon: Client, session: str) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "hide"))


def unhide_session(daemon: Client, session: str) -> SessionInfo:
    return read(SessionInfo, daemon.post("sessions", session, "unhide"))
