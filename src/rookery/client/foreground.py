"""The foreground: sessions that are shown to a person as they go on."""

from __future__ import annotations

from rookery.client.answers import Answer, read
from rookery.client.sessions import Session, Turn
from rookery.client.transport import Client


class Foreground(Answer, frozen=True):
    session: Session = Session()
    is_there: bool = False
    is_new: bool = False
    seen: int = 0
    missed: tuple[Turn, ...] = ()
    omitted: int = 0
    running: tuple[Turn, ...] = ()
    as_of: int = 0


class Background(Answer, frozen=True):
    session: str = ""
    was_in_front: bool = False


class Shown(Answer, frozen=True):
    following: Turn | None = None


class InFront(Answer, frozen=True):
    session: str = ""


class Foregrounds(Answer, frozen=True):
    foregrounds: tuple[InFront, ...] = ()


def list_foregrounds(daemon: Client, *, channel: str) -> Foregrounds:
    return read(Foregrounds, daemon.get("foregrounds", channel=channel))


def bring_to_foreground(
    daemon: Client, session: str, *, channel: str, seen: int | None = None
) -> Foreground:
    """Show a session; returns what was missed after the turn with the number ``seen``."""
    answer = daemon.post("sessions", session, "foreground", channel=channel, seen=seen)
    return read(Foreground, answer)


def look_at_foreground(daemon: Client, session: str, *, channel: str) -> Foreground:
    """Return what was missed of a session, without bringing it to the foreground."""
    answer = daemon.post("sessions", session, "foreground", channel=channel, brings=False)
    return read(Foreground, answer)


def mark_shown(daemon: Client, session: str, *, channel: str, seen: int) -> Shown:
    """Tell the daemon which turn was shown last; returns the one that follows."""
    return read(Shown, daemon.post("sessions", session, "shown", channel=channel, seen=seen))


def put_into_background(
    daemon: Client, session: str, *, channel: str, seen: int | None = None
) -> Background:
    shown = {} if seen is None else {"seen": seen}
    answer = daemon.post("sessions", session, "background", channel=channel, **shown)
    return read(Background, answer)
