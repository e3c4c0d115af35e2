"""The runtime interface: start sessions, deliver messages to them and observe them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol, Self

from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.permissions import Verdict
from rookery.ports.agent import Agent
from rookery.ports.deliveries import Delivery, DeliveryLog
from rookery.ports.sightings import Sighting
from rookery.ports.terminal import Terminal, TerminalAddress


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What a driver needs besides the program."""

    driver: str  #: its name in ``rookery.agents.driver_catalog``
    options: Mapping[str, Any] = field(default_factory=dict)
    is_single_turn: bool = False
    budget: int | None = None  #: micro-dollars


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run for a session."""

    session: SessionId
    agent: Agent
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path  #: its working directory
    driver: DriverOptions | None = None  #: how it is driven; ``None`` in a terminal


@dataclass(frozen=True, slots=True)
class RuntimeHandle:
    """A reference to a program that a runtime holds.

    Other code only stores handles, compares them and passes them back to the runtime.
    ``reference`` is for instance a pane, a process with its start time, or the id of a remote
    session. Only the runtime that made the handle interprets it.
    """

    runtime: str  #: the name of the runtime that made it
    reference: str

    @property
    def text(self) -> str:
        """Return the form in which the handle is stored."""
        return f"{self.runtime}:{self.reference}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text that ``text`` returns."""
        runtime, _, reference = text.partition(":")
        return cls(runtime, reference)


@dataclass(frozen=True, slots=True)
class HeldProgram:
    """A program that a runtime holds, and where its terminal is."""

    handle: RuntimeHandle
    address: TerminalAddress | None = None  #: of its terminal, if it has one


@dataclass(frozen=True, slots=True)
class SurvivingProcess:
    """What is left of a program whose terminal is gone: it can only be watched and stopped."""

    process: str  #: its pid and start time


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
        """Return the programs that can be adopted, by name (``program_name``)."""
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


class AnswersAgents(Protocol):
    """A runtime whose agents ask through their protocols. May raise ``RuntimeFailed``."""

    async def answer(self, session: SessionId, request: str, verdict: Verdict) -> None:
        """Answer what an agent asks; repeating has no effect."""
        ...
