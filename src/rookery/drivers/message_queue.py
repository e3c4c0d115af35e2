"""The interface of an agent's own message queue, for sessions in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol, TypeAlias

from rookery.drivers.driver import DriverError, DriverLaunch


class QueueBroken(DriverError):
    """The queue could not be asked to the end: it may have the message."""


class QueuePlace(Enum):
    """Where a message is."""

    WAITING = auto()  #: in the queue: the agent has not taken it
    TAKEN = auto()  #: in the conversation
    ABSENT = auto()  #: in neither


class MessageQueue(Protocol):
    """Hands messages to a running agent without keys.

    Each call may raise ``DriverError`` if the queue cannot be reached and nothing was done.
    """

    async def add(self, receipt: str, text: str) -> None:
        """Add a message; the agent takes it when it is idle. Raises ``QueueBroken``."""
        ...

    async def find(self, receipt: str) -> QueuePlace:
        """Return where the message with this receipt is."""
        ...

    async def remove(self, receipt: str) -> bool:
        """Take a message back. False if the agent has taken it, or it was never there."""
        ...


#: Makes the queue of a conversation, which the native id names.
MakeQueue: TypeAlias = Callable[[DriverLaunch, str], MessageQueue]
