"""The foreground: sessions that are shown to the user as they work."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client
from rookery.client.turns import TurnInfo


class ForegroundInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    is_there: bool = False
    is_new: bool = False
    seen: int = 0
    missed: tuple[TurnInfo, ...] = ()
    omitted: int = 0
    running: tuple[TurnInfo, ...] = ()
    as_of: int = 0


class BackgroundInfo(DaemonAnswer, frozen=True):
    session: str = ""
    was_in_front: bool = False


class ShownInfo(DaemonAnswer, frozen=True):
    following: TurnInfo | None = None


class InFrontInfo(DaemonAnswer, frozen=True):
    session: str = ""


class ForegroundsInfo(DaemonAnswer, frozen=True):
    foregrounds: tuple[InFrontInfo, ...] = ()


def list_foregrounds(daemon: Client, *, channel: str) -> ForegroundsInfo:
    return read(ForegroundsInfo, daemon.get("foregrounds", channel=channel))


def bring_to_foreground(
    daemon: Client, session: str, *, channel: str, seen: int | None = None
) -> ForegroundInfo:
    """Bring a session to the foreground; returns the turns missed after turn ``seen``."""
    answer = daemon.post("sessions", session, "foreground", channel=channel, seen=seen)
    return read(ForegroundInfo, answer)


def look_at_foreground(daemon: Client, session: str, *, channel: str) -> ForegroundInfo:
    """Return what was missed of a session, without bringing it to the foreground."""
    answer = daemon.post("sessions", session, "foreground", channel=channel, brings=False)
    return read(ForegroundInfo, answer)


def mark_shown(daemon: Client, session: str, *, channel: str, seen: int) -> ShownInfo:
    """Report which turn was shown last; returns the turn that follows."""
    return read(
        ShownInfo, daemon.post("sessions", session, "shown", channel=channel, seen=seen)
    )


def put_into_background(
    daemon: Client, session: str, *, channel: str, seen: int | None = None
) -> BackgroundInfo:
    shown = {} if seen is None else {"seen": seen}
    answer = daemon.post("sessions", session, "background", channel=channel, **shown)
    return read(BackgroundInfo, answer)
