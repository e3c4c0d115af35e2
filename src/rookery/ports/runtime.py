"""The runtime interface: start sessions, deliver messages to them and observe them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Parcel
from rookery.model.obstacles import Obstacle
from rookery.ports.agent import Agent
from rookery.ports.terminal import Terminal, TerminalAddress


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run for a session."""

    session: SessionId
    agent: Agent
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path  #: its working directory


@dataclass(frozen=True, slots=True)
class RuntimeHandle:
    """Refers to a program that a runtime holds. Others store it, compare it and give it back.

    Only the runtime that made it reads ``reference``: for instance a pane, a process with its
    start time, or the id of a remote session.
    """

    runtime: str  #: the name of the runtime that made it
    reference: str

    @property
    def text(self) -> str:
        """The form in which it is stored."""
        return f"{self.runtime}:{self.reference}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text that ``text`` returns."""
        runtime, _, reference = text.partition(":")
        return cls(runtime, reference)


@dataclass(frozen=True, slots=True)
class HeldProgram:
    """A program that a runtime holds, and what it reports of it."""

    handle: RuntimeHandle
    address: TerminalAddress | None = None  #: of its terminal, if it has one


@dataclass(frozen=True, slots=True)
class SurvivingProcess:
    """What is left of a program whose terminal is gone: it can only be watched and stopped."""

    process: str  #: its pid and start time


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
    """The session's own stream reported these facts, so no hook has to."""

    session: SessionId
    facts: tuple[Fact, ...]


Sighting: TypeAlias = Exited | Vanished | Changed | FellQuiet | Skipped | Unsuspended | Reported


@dataclass(frozen=True, slots=True)
class Submitted:
    """The message was submitted, for instance by Enter; the agent's proof may follow."""

    at: datetime
    #: Nothing more can be observed: without a proof, the outcome stays unknown.
    is_final: bool = False
    is_in_input: bool = False  #: its text is still in the input: it may not have been accepted


@dataclass(frozen=True, slots=True)
class LeftInput:
    """A message that was submitted earlier has left the input; only a proof can follow."""

    by_hand: bool = False  #: a person submitted or removed it, not Rookery


@dataclass(frozen=True, slots=True)
class Blocked:
    """The message cannot be delivered now."""

    obstacle: Obstacle | None = None  #: ``None`` if a retry may follow at once
    is_typed: bool = False  #: its text is already in the input
    text: str = ""  #: the sentence for the user, if it is more than the obstacle's detail


@dataclass(frozen=True, slots=True)
class Refused:
    """The program rejects this message permanently."""

    reason: str
    is_in_input: bool = False  #: its text must still be removed from the input


@dataclass(frozen=True, slots=True)
class Unknown:
    """The message was typed, and no trace of it is left."""


Delivery: TypeAlias = Submitted | LeftInput | Blocked | Refused | Unknown


class DeliveryLog(Protocol):
    """What a runtime records and looks up during a delivery."""

    async def note_typed(self) -> None:
        """Record that the text is in the input."""
        ...

    async def may_submit(self) -> bool:
        """Return whether the message may be submitted now; deliveries can be put on hold."""
        ...

    async def previous(self) -> Parcel | None:
        """Return the parcel that was delivered to the same session before this one."""
        ...


class StopMethod(Enum):
    """How to make a program end."""

    ASK = auto()  #: in its own way, such as a typed command
    TERMINATE = auto()
    KILL = auto()


class Runtime(Protocol):
    """Runs sessions and delivers messages to them. Each call may raise ``RuntimeFailed``."""

    async def start(self, launch: Launch) -> HeldProgram:
        """Run the program; if it already runs under that session's name, adopt it."""
        ...

    async def find(self) -> Mapping[str, HeldProgram]:
        """Return the programs that run now, by name (``program_name``)."""
        ...

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        """Hold a program that runs already; the other calls name its session.

        Raises ``RuntimeFailed`` if it is gone, or if another runtime made the handle.
        """
        ...

    async def release(self, session: SessionId) -> None:
        """Remove what the runtime holds for the session; background processes keep running."""
        ...

    def watch(self) -> AsyncIterator[Sighting]:
        """Yield sightings of the sessions."""
        ...

    def check(self, session: SessionId, words: str) -> None:
        """Raise ``WordsRefused`` if this text would not arrive unchanged."""
        ...

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Advance the delivery by one step; call again until the message has arrived.

        ``is_new``: it was never given to a runtime. Otherwise it may have been, also by an
        earlier daemon; a message is never typed twice.
        """
        ...

    async def interrupt(self, session: SessionId) -> None:
        """Stop the current turn as a person would."""
        ...

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        """Make the program end. Raises ``Occupied`` if it cannot be asked now."""
        ...

    def terminal(self, session: SessionId) -> Terminal:
        """Return the session's terminal. Raises ``NoTerminal`` if it has none."""
        ...
