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
    """An event of the session's own stream, used instead of hooks. Recorded as a whole."""

    session: SessionId
    facts: tuple[Fact, ...] = ()
    blocks: tuple[Block, ...] = ()
    native_id: NativeId | None = None  #: the agent's own id of the conversation, if reported
    permission_mode: str = ""  #: the current mode, if reported
    process: str | None = None  #: the agent's pid and start time, if reported
    total_cost: int | None = None  #: the agent's own running total, in micro-dollars
    edited: tuple[str, ...] = ()  #: the paths of files that it has changed
    #: Its position in the stream: an event at a recorded position is ignored. An event
    #: without a position has 0 and is always recorded.
    number: int = 0
    at: datetime | None = None  #: when it happened


@dataclass(frozen=True, slots=True)
class TextsReported:
    """Consecutive texts of the session's answer that its own stream reported."""

    session: SessionId
    texts: tuple[str, ...]
    number: int  #: the stream position of the last text; the others directly precede it
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
    #: How it is decided. ``person``: by a rule, or else by a person. ``unasked``: allowed
    #: unless a rule denies it or asks. ``granted``: allowed unless a rule denies it.
    basis: Literal["person", "unasked", "granted"] = "person"
    method: str = ""  #: the protocol's own name of the request, which rules may use as well
    folder: str = ""  #: where it would run; empty for the session's project folder
    questions: tuple[Question, ...] = ()  #: if empty, the tool and its input say what it asks
    is_exact: bool = True  #: whether the input is whole; if not, another call may look the same


@dataclass(frozen=True, slots=True)
class AgentStoppedAsking:
    """The agent no longer waits for an answer: it has one, or the turn is over."""

    session: SessionId
    request: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A driven session is over."""

    session: SessionId
    outcome: Outcome
    reason: str
    lost: bool = False  #: its driver host ended or no longer has it
    is_over_budget: bool = False


@dataclass(frozen=True, slots=True)
class StartLost:
    """A driven session was lost before its agent was up: the supervisor starts it again."""

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
