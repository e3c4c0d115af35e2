"""Types messages into panes: checks the pane before every key, and records what it typed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from rookery.model.errors import Occupied, WordsRefused
from rookery.model.messages import Parcel, Step
from rookery.model.obstacles import BlockedReason
from rookery.model.screens import View
from rookery.ports.clock import Clock
from rookery.runtimes.tmux import captures, safe_input, scrollback
from rookery.runtimes.tmux.box_contents import is_doubled, is_left_over, shows_turn
from rookery.runtimes.tmux.captures import PaneSnapshot
from rookery.runtimes.tmux.delivery_steps import (
    APPEARANCE_TIMEOUT_S,
    MAX_PASTES,
    DeliveryState,
)
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.server import AnyServer

#: Minimum seconds between two clearings of the same box.
CLEARING_GAP_S = 2.0

#: Seconds after which a command list is taken to match the complete text.
LIST_TIMEOUT_S = 3.0

#: Maximum presses of Enter for one message.
MAX_ENTERS = 3

#: Seconds without output after which an empty box is taken to have discarded the paste.
DISCARD_STEADY_S = 3.0

_UNREAD = "it has not read the earlier keys yet."


@dataclass(frozen=True, slots=True)
class Typist:
    """Types messages into one pane."""

    server: AnyServer
    pane: Pane
    clock: Clock
    typing: float  #: seconds after a person's last key in which nothing is typed
    note_enter: Callable[[], None]  #: called after each Enter
    #: Raises ``Occupied`` if keys would not reach the program.
    require_reachable: Callable[[], None] = lambda: None
    #: Seconds between two checks of a pane whose output is not streamed; ``None`` if it is.
    look_interval_s: float | None = None

    async def paste(self, parcel: Parcel) -> None:
        self.require_reachable()
        pane, fitted = self.pane, safe_input.fitted(self.pane, parcel)
        async with pane.lock:
            around, view = await self._survey()
            self._require_free_pane(around, view)
            if view and view.box:
                raise Occupied(BlockedReason.DRAFT, "there is unsent text in its input box.")
            if view and not around.pasted and self._steady_s() < pane.agent.input.settle:
                raise Occupied(BlockedReason.NO_INPUT, "its screen still changes.")
            await self._paste(parcel, fitted, view, number=1)

    async def paste_again(self, parcel: Parcel) -> bool:
        self.require_reachable()
        fitted = safe_input.fitted(self.pane, parcel)
        async with self.pane.lock:
            around, view = await self._survey()
            self._require_free_pane(around, view)
            if not self._is_discarded(parcel, around, view):
                raise Occupied(BlockedReason.NOT_SHOWN, "its box does not show the text yet.")
            if around.pastes >= MAX_PASTES:
                return False
            await self._paste(parcel, fitted, view, number=around.pastes + 1)
        return True

    async def was_discarded(self, parcel: Parcel) -> bool:
        around, view = await self._survey()
        return self._is_discarded(parcel, around, view)

    async def submit(self, parcel: Parcel) -> None:
        self.require_reachable()
        pane = self.pane
        async with pane.lock:
            around, view = await self._survey()
            self._require_free_pane(around, view)
            if self._state(parcel, around, view) is not DeliveryState.IN_BOX:
                raise Occupied(BlockedReason.OTHER_TEXT, "its box has other text.")
            if view and view.instead:
                name, typed = pane.agent.name, view.box
                raise WordsRefused(f"{name} has no {typed}; Enter would take {view.instead}.")
            if is_doubled(view, parcel, around):
                raise WordsRefused("its box shows it twice.")
            number = 1 + (around.enters if around.entered == parcel.receipt else 0)
            if number > 1:
                if captures.unread_bytes(around.tty):
                    raise Occupied(BlockedReason.NOT_TAKEN, _UNREAD)
                _require_useful_enter(pane, parcel, around)
            name, receipt = pane.place.pane, parcel.receipt
            await safe_input.enter(self.server, name, receipt=receipt, number=number)
        self.note_enter()

    async def clear(self, parcel: Parcel) -> bool:
        self.require_reachable()
        pane = self.pane
        # Some agents quit on a second ctrl-c within a second.
        since = asyncio.get_running_loop().time() - pane.cleared_at
        await self.clock.sleep(max(CLEARING_GAP_S - since, 0.0))
        async with pane.lock:
            around, view = await self._survey()
            self._require_free_pane(around, view)
            if not view or not view.box or not is_left_over(pane, parcel, around, view):
                return False
            pane.cleared_at = asyncio.get_running_loop().time()
            await safe_input.press(self.server, pane.place.pane, *pane.agent.input.clearing)

        async def is_empty() -> bool:
            return (await self.view()).box == ""

        return await self._becomes_true(is_empty, within=APPEARANCE_TIMEOUT_S)

    async def look(self, parcel: Parcel) -> DeliveryState:
        async with self.pane.lock:
            around, view = await self._survey()
            is_ours = around.pasted == parcel.receipt
            if is_ours and view and view.box and around.shown != parcel.receipt:
                name = self.pane.place.pane
                await safe_input.note_shown(self.server, name, receipt=parcel.receipt)
            return self._state(parcel, around, view)

    async def is_shown(self, parcel: Parcel, *, within: float) -> bool:
        async def is_in_box() -> bool:
            return await self.look(parcel) is DeliveryState.IN_BOX

        return await self._becomes_true(is_in_box, within=within)

    async def has_left(self, parcel: Parcel, *, within: float) -> bool:
        async def is_gone() -> bool:
            around, view = await self._survey()
            state = self._state(parcel, around, view)
            is_hidden = state is DeliveryState.HIDDEN
            return state in _GONE or (is_hidden and shows_turn(view, parcel))

        return await self._becomes_true(is_gone, within=within)

    async def quit(self) -> None:
        """Type the program's quit command. Raises ``Occupied`` with nothing submitted."""
        agent = self.pane.agent.input
        parcel = Parcel(0, self.pane.session, agent.quit, Step.SENDING, datetime.now(UTC))
        await self.paste(parcel)
        if not await self.is_shown(parcel, within=APPEARANCE_TIMEOUT_S):
            text = "its box does not show what was typed."
            raise Occupied(BlockedReason.NOT_SHOWN, text)
        await self.clock.sleep(agent.pause)
        await self.submit(parcel)

    async def view(self) -> View:
        _, view = await self._survey()
        return view or View()

    async def _becomes_true(
        self, question: Callable[[], Awaitable[bool]], *, within: float
    ) -> bool:
        """Call ``question`` after each change of the pane, until it is true or time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    # Taken before the check, so that no change is missed before the wait.
                    stirred = self.pane.next_stir()
                    if await question():
                        return True
                    if self.look_interval_s is None:
                        await stirred.wait()
                    else:
                        await self.clock.sleep(self.look_interval_s)
        return False

    async def _paste(
        self, parcel: Parcel, fitted: str, view: View | None, *, number: int
    ) -> None:
        pane = self.pane
        mark = "" if view else await self._mark(fitted)
        words = _typed(pane.agent.input.rewriting.typed(fitted), view)
        name, receipt = pane.place.pane, parcel.receipt
        pane.pasted_at = self._now()
        await safe_input.paste(
            self.server, name, words, receipt=receipt, mark=mark, number=number
        )

    def _steady_s(self) -> float:
        """Return for how many seconds the pane has neither printed nor been pasted into."""
        return self._now() - max(self.pane.last_output, self.pane.pasted_at)

    def _now(self) -> float:
        """Return the time on the clock that ``Pane.last_output`` uses."""
        if self.look_interval_s is None:
            return asyncio.get_running_loop().time()
        return self.clock.now().timestamp()

    def _is_discarded(self, parcel: Parcel, around: PaneSnapshot, view: View | None) -> bool:
        """Return whether the program has read the pasted text and discarded it.

        Only Enter submits text. Without one, text that was read and is not in the box is lost.
        """
        if self._state(parcel, around, view) is not DeliveryState.NOT_SHOWN:
            return False
        is_untouched = around.typed_at <= parcel.since.timestamp()
        is_idle = view is not None and view.is_resting and is_untouched
        is_steady = self._steady_s() >= DISCARD_STEADY_S
        return is_idle and is_steady and captures.unread_bytes(around.tty) == 0

    async def _mark(self, words: str) -> str:
        """Return a mark for a message: what is printed after it is the response."""
        self.pane.was_wiped = False
        return (await scrollback.mark(self.server, self.pane.place.pane, words)).text

    async def _survey(self) -> tuple[PaneSnapshot, View | None]:
        pane = self.pane
        around = await captures.look_around(self.server, pane.place.pane)
        if (dialect := pane.agent.screen) is None:
            return around, None
        pane.suspension.has_read_keys |= not around.takes_lines
        if pane.agent.input.suspends and around.takes_lines:
            # The program is suspended: the screen still shows what it drew before.
            return around, View(is_suspended=True)
        return around, dialect.read(around.screen)

    def _state(self, parcel: Parcel, around: PaneSnapshot, view: View | None) -> DeliveryState:
        is_entered = around.entered == parcel.receipt
        if around.pasted != parcel.receipt:
            return DeliveryState.NOT_TYPED
        if view is None:
            # The screen cannot be read: only what was typed is known.
            return DeliveryState.WITH_AGENT if is_entered else DeliveryState.IN_BOX
        if view.dialog or view.box is None or self._may_list_more(view, parcel):
            return DeliveryState.HIDDEN
        if not view.box:
            return _empty_box(parcel, around)
        # The box was empty before the paste; unless a person typed, all its text is Rookery's.
        is_first = around.pastes == 1
        is_untouched = not is_entered and is_first and not self._person_types(around)
        if is_doubled(view, parcel, around):
            return DeliveryState.IN_BOX
        is_ours = is_untouched or self.pane.agent.input.holds(view.box, parcel.words)
        return DeliveryState.IN_BOX if is_ours else DeliveryState.HIDDEN

    def _require_free_pane(self, around: PaneSnapshot, view: View | None) -> None:
        """Raise ``Occupied`` if a key pressed now could do harm."""
        since = self.clock.now().timestamp() - self.typing
        safe_input.require_free(around, view, typing_since=since)

    def _may_list_more(self, view: View, parcel: Parcel) -> bool:
        """Return whether the command list may still match only a part of the typed text."""
        age_s = (self.clock.now() - parcel.since).total_seconds()
        return bool(view.instead) and age_s < LIST_TIMEOUT_S

    def _person_types(self, around: PaneSnapshot) -> bool:
        return around.typed_at > self.clock.now().timestamp() - self.typing


_GONE = frozenset({DeliveryState.LEFT_BOX, DeliveryState.WITH_AGENT})


def _empty_box(parcel: Parcel, around: PaneSnapshot) -> DeliveryState:
    """Return the state of a pasted message whose box is empty."""
    if around.entered == parcel.receipt:
        return DeliveryState.LEFT_BOX
    was_shown = around.shown == parcel.receipt
    return DeliveryState.REMOVED if was_shown else DeliveryState.NOT_SHOWN


def _require_useful_enter(pane: Pane, parcel: Parcel, around: PaneSnapshot) -> None:
    """Raise ``WordsRefused`` if another Enter on the same message is pointless."""
    name, dialect = pane.agent.name, pane.agent.screen
    if dialect and (refusal := dialect.why_refused(around.screen, parcel.words)):
        raise WordsRefused(f"{name} refused it: {refusal}")
    if around.enters >= MAX_ENTERS:
        raise WordsRefused(
            f"Enter was pressed {around.enters} times, and {name} did not accept it."
        )


#: Before Enter, a trailing backslash means a new line, and a word after ``@`` is completed.
_UNFINISHED = re.compile(r"(?:\\|(?:^|\s)@\S*)\Z")


def _typed(words: str, view: View | None) -> str:
    """Return the text to paste, with a space added where Enter would not submit it."""
    return words + " " if view and _UNFINISHED.search(words) else words
