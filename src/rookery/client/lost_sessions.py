"""List the sessions that ended unexpectedly."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client


class LostInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    obstacle: str = ""


class LostListInfo(DaemonAnswer, frozen=True):
    sessions: tuple[LostInfo, ...] = ()
    hours: float = 0.0


def list_lost(daemon: Client, *, all: bool, hours: float | None) -> LostListInfo:  # noqa: A002 - its name
    """List the sessions that were lost; with ``all`` also those that failed or expired."""
    limit = {} if hours is None else {"hours": hours}
    return read(LostListInfo, daemon.get("lost", all=all, **limit))
