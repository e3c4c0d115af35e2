"""What the daemon asks of the driver host: one JSON object per line, each with a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

#: The default of ``Start.silence_seconds``.
SILENCE_SECONDS = 15.0


class _Command(Struct, frozen=True, tag_field="do"):
    pass


class Start(_Command, frozen=True, tag="start"):
    """Start a session, unless it runs already."""

    session: str
    driver: str  #: the name of the driver: see ``rookery.agents.driver_catalog``
    argv: tuple[str, ...]  #: the program that speaks the protocol
    environment: Mapping[str, str]
    folder: str  #: its working directory
    options: Mapping[str, Any]  #: what the driver needs besides; the agent's dialect made it
    is_single_turn: bool = False  #: it is over after its first turn
    budget: int | None = None  #: micro-dollars
    #: Without an event in a turn, until that is reported.
    silence_seconds: float = SILENCE_SECONDS


class AgentPrompt(_Command, frozen=True, tag="prompt"):
    """Give a session a prompt; a key that it has had before is ignored."""

    session: str
    key: str
    text: str


class AgentAnswer(_Command, frozen=True, tag="answer"):
    """Answer what the agent asked. Without effect if it waits for that no longer."""

    session: str
    request: str
    allow: bool
    message: str = ""  #: the reason of a denial, for the agent
    answers: Mapping[str, tuple[str, ...]] = {}  #: to questions, by the question's text


class Interrupt(_Command, frozen=True, tag="interrupt"):
    session: str


class Close(_Command, frozen=True, tag="close"):
    """End the session in the agent's own way."""

    session: str


class Kill(_Command, frozen=True, tag="kill"):
    """End the session's processes by a signal."""

    session: str
    signal: int


class Release(_Command, frozen=True, tag="release"):
    """Forget a session that has ended; its event file is the daemon's to delete."""

    session: str


class List(_Command, frozen=True, tag="list"):
    """Return the sessions of this host."""


class Retire(_Command, frozen=True, tag="retire"):
    """End the host if it has no sessions."""


Command: TypeAlias = (
    Start | AgentPrompt | AgentAnswer | Interrupt | Close | Kill | Release | List | Retire
)


class HostCall(Struct, frozen=True):
    """A command, and the number under which it is answered."""

    id: int
    key: str  #: the secret of this host
    command: Command


class HostReply(Struct, frozen=True, omit_defaults=True):
    """The answer to a command, or, without ``id``, news that a session's event file grew."""

    id: int = 0
    error: str = ""
    refusal: Literal["", "now", "final"] = ""  #: the agent has not got a prompt
    sessions: tuple[str, ...] = ()


read_call = msgspec.json.Decoder(HostCall).decode
read_reply = msgspec.json.Decoder(HostReply).decode


def write(message: HostCall | HostReply) -> bytes:
    """Return the line that carries a message."""
    return msgspec.json.encode(message) + b"\n"
