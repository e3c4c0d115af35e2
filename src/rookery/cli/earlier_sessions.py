"""Read the sessions that a session continues, for its whole conversation."""

from __future__ import annotations

from typing import Protocol

from rookery.client import Client
from rookery.client.sessions import SessionInfo
from rookery.client.turns import TurnsInfo
from rookery.model.errors import Answered

#: The number of latest turns that are printed without --last.
DEFAULT_TURNS = 200

#: Maximum number of earlier sessions of a conversation that --whole prints.
MAX_EARLIER_SESSIONS = 50


class ReadTurns(Protocol):
    """Returns the last turns of a session."""

    def __call__(self, daemon: Client, session: str, *, last: int) -> TurnsInfo: ...


def earlier_sessions(
    daemon: Client, session: SessionInfo, last: int | None, read: ReadTurns
) -> list[TurnsInfo]:
    """Return the turns of the earlier sessions of a conversation, oldest session first.

    They have at most ``last`` turns together; without it, each has the usual number.
    """
    found: list[TurnsInfo] = []
    while session.continues and len(found) < MAX_EARLIER_SESSIONS and last != 0:
        try:
            found.append(read(daemon, session.continues, last=last or DEFAULT_TURNS))
        except Answered:  # it was pruned, or this caller may not see it
            break
        session = found[-1].session
        last = None if last is None else max(last - len(found[-1].turns), 0)
    return found[::-1]
