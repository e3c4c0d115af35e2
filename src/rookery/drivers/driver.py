"""The interface of a driver: the code that speaks one protocol with one agent program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rookery.drivers.commands import AgentAnswer
from rookery.drivers.events import Asked, Ended, Event


class DriverError(Exception):
    """The agent cannot be driven; the text says why, in a sentence for the user."""


class AnswerLost(DriverError):
    """A request was sent and its answer did not come: the agent may have carried it out."""


class PromptRefused(DriverError):
    """The agent has not got a prompt, and will not unless it is sent again."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final  #: it would be refused again


@dataclass(frozen=True, slots=True)
class DriverLaunch:
    """What a driver is given to start its agent."""

    session: str
    argv: tuple[str, ...]  #: the program that speaks the protocol, with its arguments
    environment: Mapping[str, str]  #: the whole environment; nothing else is inherited
    folder: Path  #: its working directory
    options: Mapping[str, Any] = field(default_factory=dict)


class DriverContext(Protocol):
    """What a driver reports to, and asks."""

    def report(self, *events: Event) -> None:
        """Store events with one write. Order is kept; they are in the file when this returns.

        What one read of the agent's output brought may be reported at once: while it is not
        reported, a kill loses no more than if it had not been read. So it must be reported
        before the host writes to the agent or to the daemon because of it, and before the
        driver waits again.

        If the file cannot be written, for instance on a full disk, events are kept until it
        can. See ``rookery.drivers.event_store``.
        """
        ...

    async def ask(self, asked: Asked) -> AgentAnswer:
        """Report that the agent asks something, and wait for the answer.

        If this is cancelled, because the agent asks no longer, that is reported, too.
        """
        ...


class Driver(Protocol):
    """Drives one session. Calls other than ``run`` come only after ``Up`` was reported."""

    async def run(self) -> Ended:
        """Start the agent and report what it does, until it ends or is closed.

        Reports ``Up`` once. An exception fails the session with its text as the reason.
        """
        ...

    async def prompt(self, text: str) -> None:
        """Give the agent a prompt. Reports ``PromptTaken`` when the agent has it.

        Returns at once; the turn ends with ``TurnOver``. During a turn it adds to the turn, or
        raises ``DriverError`` if the protocol has no such request. ``AnswerLost`` says that the
        agent may have it; any other ``DriverError``, that it has not.
        """
        ...

    async def interrupt(self) -> None:
        """Stop the running turn; ``TurnOver`` with ``interrupted`` follows."""
        ...

    async def close(self) -> None:
        """Make the agent end in its own way; ``run`` then returns."""
        ...

    @property
    def pid(self) -> int | None:
        """The agent's process, if it runs."""
        ...


MakeDriver: TypeAlias = Callable[[DriverLaunch, DriverContext], Driver]
