"""What a runtime sees of its sessions, and reports to the daemon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from rookery.model.blocks import Block
from rookery.model.facts import Fact, Outcome, SessionId
from rookery.model.permissions import Question
from rookery.model.sessions import NativeId


@dataclass(frozen=True, slots=True)
class Exited:
    """The program ended. Code and signal are both ``None`` if it is unknown how."""

    session: SessionId
    code: int | None
    signal: int | None
    screen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vanished:
    """The pane or process of the session is gone: two checks did not find it."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Changed:
    """The session's screen changed a moment ago."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class FellQuiet:
    """The session printed something, and then nothing for a while."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Skipped:
    """The session printed more than could be read."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Unsuspended:
    """The session's program was suspended, and the runtime has made it continue."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Reported:
    """The session's own stream reported this, so no hook has to. Recorded as a whole."""

    session: SessionId
    facts: tuple[Fact, ...] = ()
    blocks: tuple[Block, ...] = ()
    native_id: NativeId | None = None  #: the agent's own id of the conversation, if it is told
    permission_mode: str = ""  #: the current mode, if it is told
    process: str | None = None  #: the agent's process, if it is told: its pid and start time
    total_cost: int | None = None  #: the agent's own running total, in micro-dollars
    edited: tuple[str, ...] = ()  #: the paths of files that it has changed
    #: Its position in the stream, which is recorded once; a runtime may report it again.
    number: int = 0
    at: datetime | None = None  #: when it happened


@dataclass(frozen=True, slots=True)
class TextsReported:
    """The session's own stream reported these texts of its answer, and nothing in between."""

    session: SessionId
    texts: tuple[str, ...]
    number: int  #: the position of the last one in the stream; those before it have no gaps
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedTogether:
    """What streams have reported since the last sighting: recorded in one transaction."""

    reports: tuple[Reported | TextsReported, ...]


@dataclass(frozen=True, slots=True)
class AgentAsked:
    """The agent asks for a permission or for answers, through its protocol."""

    session: SessionId
    request: str  #: the runtime's own id of it
    tool: str
    input: Mapping[str, Any]
    call_id: str = ""
    subagent: str = ""
    #: What decides if no rule does: a person; nothing, unless a rule denies or asks
    #: (``unasked``); nothing, unless a rule denies (``granted``).
    basis: Literal["person", "unasked", "granted"] = "person"
    method: str = ""  #: the protocol's own name of the request, which rules may use as well
    folder: str = ""  #: where it would run; empty for the session's project folder
    questions: tuple[Question, ...] = ()  #: if empty, the tool and its input say what it asks


@dataclass(frozen=True, slots=True)
class AgentStoppedAsking:
    """The agent asks for it no longer."""

    session: SessionId
    request: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A driven session is over."""

    session: SessionId
    outcome: Outcome
    reason: str
    lost: bool = False  #: because its driver host ended
    is_over_budget: bool = False


@dataclass(frozen=True, slots=True)
class StartLost:
    """A driven session whose agent was not up is gone: it is to be started again."""

    session: SessionId


Sighting: TypeAlias = (
    Exited
    | Vanished
    | Changed
    | FellQuiet
    | Skipped
    | Unsuspended
    | Reported
    | TextsReported
    | ReportedTogether
    | AgentAsked
    | AgentStoppedAsking
    | Finished
    | StartLost
)
