"""Deliver messages to a program by typing: paste, check the box, press Enter, check again.

A message is pasted again only if the program has discarded it, so it is never submitted twice.
After a crash the pane is checked first: it stores the receipt of what was pasted and of what
Enter was pressed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, assert_never

from rookery.model.errors import Occupied, WordsRefused
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.ports.clock import Clock
from rookery.ports.deliveries import (
    Blocked,
    Delivery,
    DeliveryLog,
    LeftInput,
    Refused,
    Submitted,
    Unknown,
)

#: Seconds after which a pasted message that never appeared becomes unsure. It is long because a
#: program may hang and then continue.
LOST_AFTER_S = 600.0

#: Seconds for pasted text to appear in the input box.
APPEARANCE_TIMEOUT_S = 2.0

#: Seconds for text to leave the input box after Enter.
ENTER_TIMEOUT_S = 2.0

#: Seconds after a paste from which text that never appeared may have been discarded.
DISCARDED_AFTER_S = 5.0

#: Maximum pastes of one message. It is pasted again only if the program has read
#: the first paste and shows an empty box, so that the text cannot have been submitted.
MAX_PASTES = 2

_HIDDEN = Obstacle(BlockedReason.HIDDEN, "something else is on its screen.")
_NOT_SHOWN = Obstacle(BlockedReason.NOT_SHOWN, "its box does not show the text yet.")
_DISCARDED = f"it was typed {MAX_PASTES} times, and its box has not shown it."
_REFUSED = Obstacle(BlockedReason.REFUSED, "its box still shows a text that it refused.")


class DeliveryState(Enum):
    """The observable state of a message that is being delivered."""

    IN_BOX = auto()  #: its text, and nothing else, is in the input box
    WITH_AGENT = auto()  #: Enter was pressed on it; the screen cannot show more
    NOT_SHOWN = auto()  #: it was typed, and does not show yet
    LEFT_BOX = auto()  #: Enter was pressed on it, and it is gone from the box
    REMOVED = auto()  #: it has left the box without an Enter of Rookery's
    NOT_TYPED = auto()  #: it was never typed
    HIDDEN = auto()  #: a dialog or a person's draft is in the way; check again later


class Typing(Protocol):
    """Types messages into one program."""

    async def paste(self, parcel: Parcel) -> None:
        """Paste the message into the empty input box. Raises ``Occupied`` with nothing done.

        The same command stores its receipt where it outlives the daemon.
        """
        ...

    async def is_shown(self, parcel: Parcel, *, within: float) -> bool:
        """Wait until the pasted text is in the box; return false on timeout."""
        ...

    async def was_discarded(self, parcel: Parcel) -> bool:
        """Return whether the program has read the pasted text and discarded it.

        That is so if it has no unread input, its box is visible and empty, it is idle, its
        screen is steady, and no person has typed since.
        """
        ...

    async def paste_again(self, parcel: Parcel) -> bool:
        """Paste a discarded message once more; false if it was pasted too often already.

        Raises ``Occupied`` with nothing done.
        """
        ...

    async def has_left(self, parcel: Parcel, *, within: float) -> bool:
        """Wait until the text is no longer in the box after Enter; return false on timeout."""
        ...

    async def submit(self, parcel: Parcel) -> None:
        """Press Enter on the message. Raises ``Occupied`` if the box holds anything else.

        Raises ``WordsRefused`` if the program has refused it, or still keeps it in its box
        after the maximum number of Enters.
        """
        ...

    async def clear(self, parcel: Parcel) -> bool:
        """Empty the input box if it holds this message and nothing else.

        Returns whether it did. Raises ``Occupied`` if a key could do harm.
        """
        ...

    async def look(self, parcel: Parcel) -> DeliveryState:
        """Return the state of the message."""
        ...


@dataclass(frozen=True, slots=True)
class TypedDelivery:
    """Delivers messages to one program by typing them."""

    typing: Typing
    clock: Clock
    pause_s: float  #: seconds between a paste and Enter

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Take the next step of a delivery; steps that were completed are not repeated."""
        if parcel.refused:
            return await self._remove_refused(parcel)
        return await (self._begin(parcel, log) if is_new else self._resume(parcel, log))

    async def _begin(self, parcel: Parcel, log: DeliveryLog) -> Delivery:
        try:
            await self.typing.paste(parcel)
        except Occupied as occupied:
            is_cleared = await self._clear_previous(log)
            return Blocked() if is_cleared else _blocked(occupied)
        except WordsRefused as refused:
            return Refused(str(refused))
        await log.note_typed()
        if not await self.typing.is_shown(parcel, within=APPEARANCE_TIMEOUT_S):
            return Blocked(is_typed=True)
        await self.clock.sleep(self.pause_s)
        return await self._submit(parcel, log)

    async def _resume(  # noqa: C901, PLR0911 - a table
        self, parcel: Parcel, log: DeliveryLog
    ) -> Delivery:
        """Continue with a message that may have been typed before."""
        match await self.typing.look(parcel):
            case DeliveryState.NOT_TYPED if parcel.step is Step.SENDING:
                return Blocked()
            case DeliveryState.NOT_TYPED:
                return Unknown()  # it was typed, and the receipt is lost
            case DeliveryState.NOT_SHOWN:
                return await self._wait_for_slow_program(parcel)
            case DeliveryState.REMOVED:
                return await self._settle_removed(parcel)
            case DeliveryState.HIDDEN if parcel.is_command and parcel.step is Step.SUBMITTED:
                return LeftInput()  # the command has opened a dialog of its own
            case DeliveryState.HIDDEN:
                return Blocked(_HIDDEN, is_typed=True)
            case DeliveryState.IN_BOX:
                if parcel.step is Step.SENDING:
                    await log.note_typed()
                return await self._submit(parcel, log)
            case DeliveryState.WITH_AGENT:
                return Submitted(parcel.since, is_final=True)
            case DeliveryState.LEFT_BOX:
                return LeftInput()
            case state:
                assert_never(state)

    async def _submit(self, parcel: Parcel, log: DeliveryLog) -> Delivery:
        if not await log.may_submit():
            return Blocked(is_typed=True)
        pressed_at = self.clock.now()
        try:
            await self.typing.submit(parcel)
        except Occupied as occupied:
            return _blocked(occupied, is_typed=True)
        except WordsRefused as refused:
            return Refused(" ".join(map(str, refused.args)), is_in_input=True)
        # A program that is starting or loading may ignore the key.
        has_left = await self.typing.has_left(parcel, within=ENTER_TIMEOUT_S)
        return Submitted(pressed_at, is_in_input=not has_left)

    async def _wait_for_slow_program(self, parcel: Parcel) -> Delivery:
        """Wait for a busy program to show the text, unless a person has removed it."""
        if self._age_s(parcel) > LOST_AFTER_S:
            return Unknown()
        if await self.typing.is_shown(parcel, within=APPEARANCE_TIMEOUT_S):
            return Blocked(is_typed=True)
        is_due = self._age_s(parcel) >= DISCARDED_AFTER_S
        if not (is_due and await self.typing.was_discarded(parcel)):
            return Blocked(_NOT_SHOWN, is_typed=True)
        try:
            is_pasted = await self.typing.paste_again(parcel)
        except Occupied as occupied:
            return _blocked(occupied, is_typed=True)
        return Blocked(is_typed=True) if is_pasted else Refused(_DISCARDED)

    async def _settle_removed(self, parcel: Parcel) -> Delivery:
        """Settle a message that a person has submitted or cleared by hand.

        A program that redraws its screen may show an empty box for a moment.
        """
        is_shown = await self.typing.is_shown(parcel, within=APPEARANCE_TIMEOUT_S)
        return Blocked(is_typed=True) if is_shown else LeftInput(by_hand=True)

    async def _clear_previous(self, log: DeliveryLog) -> bool:
        """Empty the box if the last message is back in it, as after an early interrupt."""
        previous = await log.previous()
        if previous is None:
            return False
        try:
            return await self.typing.clear(previous)
        except Occupied:
            return False

    async def _remove_refused(self, parcel: Parcel) -> Delivery:
        """Remove a refused message from the box: the next one needs it empty."""
        try:
            await self.typing.clear(parcel)
            is_in_box = await self.typing.look(parcel) is DeliveryState.IN_BOX
        except Occupied as occupied:
            return _blocked(occupied, is_typed=True)
        if is_in_box and self._age_s(parcel) < LOST_AFTER_S:
            return Blocked(_REFUSED, is_typed=True)
        return Refused(parcel.refused)

    def _age_s(self, parcel: Parcel) -> float:
        return (self.clock.now() - parcel.since).total_seconds()


def _blocked(occupied: Occupied, *, is_typed: bool = False) -> Blocked:
    return Blocked(occupied.obstacle, is_typed=is_typed, text=str(occupied))
