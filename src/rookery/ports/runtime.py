"""What Rookery asks of a runtime: to run sessions and to speak to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import Protocol, TypeAlias

from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Parcel
from rookery.ports.agent import Agent
from rookery.ports.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to be held for a session."""

    session: SessionId
    agent: Agent
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path  #: where it works


@dataclass(frozen=True, slots=True)
class Place:
    """Where a runtime holds a session."""

    tmux_session: str
    tmux_pane: str
    pid: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The program ended. Without a code or a signal, nobody could tell how."""

    session: SessionId
    code: int | None
    signal: int | None
    screen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vanished:
    """What held it is gone: looked for twice, found neither time."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Changed:
    """Its screen changed a moment ago."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class FellQuiet:
    """It printed something and then nothing for a while."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Skipped:
    """It printed more than could be taken in."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Reported:
    """The session's own stream told these facts, so no hook has to."""

    session: SessionId
    facts: tuple[Fact, ...]


Sighting: TypeAlias = Exited | Vanished | Changed | FellQuiet | Skipped | Reported


@dataclass(frozen=True, slots=True)
class Submitted:
    """The session was given the words, by Enter for instance; the agent's proof may follow."""

    at: datetime
    #: Nothing more can be seen of them: if no proof comes, it is not known what became of them.
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """Words that were submitted earlier are gone from the input; only a proof can follow."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """The words cannot go on now."""

    reason: str = ""  #: empty if the next try may follow at once
    is_typed: bool = False  #: they stand in the input already


@dataclass(frozen=True, slots=True)
class Refused:
    """The program does not take these words, and never will."""

    reason: str
    is_in_input: bool = False  #: they are still to be taken out of there


@dataclass(frozen=True, slots=True)
class Unknown:
    """The words were typed, and no trace of them is left."""


Delivery: TypeAlias = Submitted | Left | Blocked | Refused | Unknown


class DeliveryLog(Protocol):
    """What a runtime writes down and looks up while it delivers."""

    async def note_typed(self) -> None:
        """Write down that the words are in the input."""
        ...

    async def may_submit(self) -> bool:
        """Return whether the words may be submitted now: deliveries can be held."""
        ...

    async def previous(self) -> Parcel | None:
        """Return the words that the same session was given last."""
        ...


class StopMethod(Enum):
    """How a program is made to end."""

    ASK = auto()  #: in its own way, such as a command that is typed
    TERMINATE = auto()
    KILL = auto()


class Runtime(Protocol):
    """Runs sessions and speaks to them. Each call may raise ``RuntimeFailed``."""

    async def start(self, launch: Launch) -> Place:
        """Run the program; if it already runs under that session's name, take it over."""
        ...

    async def find(self) -> Mapping[str, Place]:
        """Return the programs that run now, by their name."""
        ...

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        """Watch a program that was found. Raises ``RuntimeFailed`` if it has gone meanwhile."""
        ...

    async def release(self, session: SessionId) -> None:
        """Remove what held the session; its background processes are left alone."""
        ...

    def watch(self) -> AsyncIterator[Sighting]:
        """Yield what happens to the sessions."""
        ...

    def check(self, session: SessionId, words: str) -> None:
        """Raise ``WordsRefused`` if these words would not arrive unchanged."""
        ...

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Bring words to the session by one step; call again until they have arrived.

        ``is_new``: they were never given to a runtime before. Else they may have been, also
        by an earlier daemon; words are never typed twice.
        """
        ...

    async def interrupt(self, session: SessionId) -> None:
        """Stop the present turn as a person would."""
        ...

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        """Make the program end. Raises ``Occupied`` if it cannot be asked now."""
        ...

    def terminal(self, session: SessionId) -> Terminal:
        """Return the session's terminal. Raises ``NoTerminal`` if it has none."""
        ...
