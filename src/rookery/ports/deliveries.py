"""How far a runtime has delivered a message, and what it records meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from rookery.model.messages import Parcel
from rookery.model.obstacles import Obstacle


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

    async def note_untyped(self) -> None:
        """Record that the text is certainly not in the input, after ``note_typed``."""
        ...

    async def may_submit(self) -> bool:
        """Return whether the message may be submitted now; deliveries can be put on hold."""
        ...

    async def previous(self) -> Parcel | None:
        """Return the parcel that was delivered to the same session before this one."""
        ...


class Carrier(Protocol):
    """Gives messages to agents."""

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Advance a delivery by one step, as ``Runtime.deliver`` does."""
        ...
