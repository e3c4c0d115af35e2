"""The turns of a session, with the messages that no turn took up."""

from __future__ import annotations

from rookery.client.decoding import DaemonAnswer, read
from rookery.client.sessions import SessionInfo
from rookery.client.transport import Client


class TurnInfo(DaemonAnswer, frozen=True):
    number: int = 0
    prompt: str = ""
    answer: str = ""
    started_at: str = ""
    ended_at: str | None = None
    how: str = ""


class ToolCallInfo(DaemonAnswer, frozen=True):
    number: int = 0
    turn: int = 0
    at: str = ""
    tool: str = ""
    argument: str = ""
    denied_by: str = ""  #: empty if it was not denied
    rule: str = ""
    failure: str = ""  #: empty if it is not known to have failed


class MessageProgress(DaemonAnswer, frozen=True):
    """How far a message has come."""

    step: str = ""
    waits_for: str = ""
    obstacle: str | None = None  #: unknown to an older daemon
    withdrawn_by: str = ""

    @property
    def blocked_by(self) -> str:
        """Return what kept the message from being typed at the last attempt."""
        return self.waits_for if self.obstacle is None else self.obstacle


class Undelivered(MessageProgress, frozen=True):
    """A message that waits, did not arrive, or is not known to have arrived."""

    words: str = ""


class TurnsInfo(DaemonAnswer, frozen=True):
    session: SessionInfo = SessionInfo()
    turns: tuple[TurnInfo, ...] = ()
    count: int = 0
    unheard: tuple[Undelivered, ...] = ()
    tools: tuple[ToolCallInfo, ...] = ()


def show_turns(
    daemon: Client,
    session: str,
    *,
    last: int | None = None,
    after: int | None = None,
    timeout: float = 0.0,
) -> TurnsInfo:
    """Return the last turns; with ``after`` and ``timeout`` wait for more turns to end."""
    limits = {"last": last, "after": after}
    set_limits = {name: value for name, value in limits.items() if value is not None}
    return read(
        TurnsInfo, daemon.get("sessions", session, "turns", timeout=timeout, **set_limits)
    )
