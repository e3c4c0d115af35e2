"""Sessions in detail: everything about one, its conversation, and what was seen of it."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession
from rookery.client.transport import Client
from rookery.client.turns import TurnInfo, TurnsInfo, Undelivered


class RelativeInfo(DaemonAnswer, frozen=True):
    """A session that started, was started by, or continues another one."""

    id: str = ""
    name: str = ""
    status: str = ""


class DetailsInfo(DaemonAnswer, frozen=True):
    session: ListedSession = ListedSession()
    parent: RelativeInfo | None = None
    children: tuple[RelativeInfo, ...] = ()
    continues: RelativeInfo | None = None
    continued_by: tuple[RelativeInfo, ...] = ()
    turns: int = 0
    last: TurnInfo | None = None
    queue: tuple[Undelivered, ...] = ()
    requests: tuple[RequestInfo, ...] = ()
    overlap: str = ""


class SeenUntilInfo(DaemonAnswer, frozen=True):
    seen_at: str = ""


def show_conversation(daemon: Client, session: str, *, last: int) -> TurnsInfo:
    """Return the last turns with the tool calls that were made in them."""
    return read(TurnsInfo, daemon.get("sessions", session, "turns", last=last, tools=True))


def show_details(daemon: Client, session: str) -> DetailsInfo:
    """Return everything that is known about one session."""
    return read(DetailsInfo, daemon.get("sessions", session, "details"))


def mark_answers_seen(daemon: Client, session: str, *, until: str) -> SeenUntilInfo:
    """Report that a person has seen the answers of a session that were given until a time."""
    return read(SeenUntilInfo, daemon.post("sessions", session, "seen", until=until))
