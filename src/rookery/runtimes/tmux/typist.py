"""Types words into panes: looks before every key, and knows afterwards what it typed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from rookery.model.errors import WordsRefused
from rookery.model.messages import Parcel, Step
from rookery.model.rewriting import essence
from rookery.model.screens import View
from rookery.ports.clock import Clock
from rookery.ports.runtime import Printed, Sight
from rookery.runtimes.tmux import captures, inputs, printed
from rookery.runtimes.tmux.captures import Surroundings
from rookery.runtimes.tmux.panes import Pane
from rookery.runtimes.tmux.server import AnyServer

#: Seconds for a program to show what was typed to make it leave.
APPEARANCE = 2.0

#: Seconds between two times that the same box is emptied, at least.
CLEARING_GAP_S = 2.0

#: Enters pressed on the same words, at most.
MOST_ENTERS = 3


@dataclass(frozen=True, slots=True)
class Typist:
    server: AnyServer
    clock: Clock
    typing: float  #: seconds after a person's last key in which nothing is typed

    async def paste(self, pane: Pane, parcel: Parcel) -> None:
        fitted = inputs.fitted(pane, parcel)
        async with pane.lock:
            around, view = await self._survey(pane)
            self._require_a_free_pane(around, view)
            if view and view.box:
                raise inputs.occupied("somebody's draft stands in its box")
            mark = "" if view else await self._mark(pane, fitted)
            words = _typed(pane.agent.rewriting.typed(fitted), view)
            name, receipt = pane.place.tmux_pane, parcel.receipt
            await inputs.paste(self.server, name, words, receipt=receipt, mark=mark)

    async def submit(self, pane: Pane, parcel: Parcel) -> None:
        async with pane.lock:
            around, view = await self._survey(pane)
            self._require_a_free_pane(around, view)
            if self._sight(pane, parcel, around, view) is not Sight.BOX:
                raise inputs.occupied("something else stands in its box")
            number = 1 + (around.enters if around.entered == parcel.receipt else 0)
            if number > 1:
                _require_hope(pane, parcel, around)
            name, receipt = pane.place.tmux_pane, parcel.receipt
            await inputs.enter(self.server, name, receipt=receipt, number=number)

    async def clear(self, pane: Pane, parcel: Parcel) -> bool:
        """Empty the box if it holds these words, typed by us, and nothing else."""
        # Claude and Gemini leave at a second ctrl-c that follows within a second.
        since = asyncio.get_running_loop().time() - pane.cleared_at
        await self.clock.sleep(max(CLEARING_GAP_S - since, 0.0))
        async with pane.lock:
            around, view = await self._survey(pane)
            self._require_a_free_pane(around, view)
            if not view or not view.box or not _is_left_over(pane, parcel, around, view):
                return False
            pane.cleared_at = asyncio.get_running_loop().time()
            await inputs.press(self.server, pane.place.tmux_pane, *pane.agent.clearing)
        return await self._seen(pane, lambda view: view.box == "", within=APPEARANCE)

    async def look(self, pane: Pane, parcel: Parcel) -> Sight:
        async with pane.lock:
            return self._sight(pane, parcel, *await self._survey(pane))

    async def shown(self, pane: Pane, parcel: Parcel, *, within: float) -> bool:
        """Wait until pasted words stand in the box. False if they do not in time."""

        async def is_shown() -> bool:
            return await self.look(pane, parcel) is Sight.BOX

        return await _in_time(pane, is_shown, within=within)

    async def _seen(
        self, pane: Pane, question: Callable[[View], bool], *, within: float
    ) -> bool:
        """Wait until the screen answers a question with yes. False if it does not in time."""

        async def is_seen() -> bool:
            return question(await self.view(pane))

        return await _in_time(pane, is_seen, within=within)

    async def quit(self, pane: Pane) -> None:
        """Type what makes the program leave. Raises ``Occupied`` with nothing submitted."""
        if not pane.agent.quit:
            raise inputs.occupied("it has no way to be asked")
        now = datetime.now(UTC)
        parcel = Parcel(0, pane.session, pane.agent.quit, Step.SENDING, now)
        await self.paste(pane, parcel)
        if not await self.shown(pane, parcel, within=APPEARANCE):
            raise inputs.occupied("its box does not show what was typed")
        await self.clock.sleep(pane.agent.pause)
        await self.submit(pane, parcel)

    async def view(self, pane: Pane) -> View:
        _, view = await self._survey(pane)
        return view or View()

    async def printed(self, pane: Pane) -> Printed:
        name, was_wiped = pane.place.tmux_pane, pane.was_wiped
        return await printed.since_mark(self.server, name, was_wiped=was_wiped)

    async def is_at_rest(self, pane: Pane) -> bool:
        return await printed.is_at_rest(self.server, pane.place.tmux_pane)

    async def _mark(self, pane: Pane, words: str) -> str:
        """Make a mark for words: what is printed after it is what they led to."""
        pane.was_wiped = False
        return (await printed.mark(self.server, pane.place.tmux_pane, words)).text

    async def _survey(self, pane: Pane) -> tuple[Surroundings, View | None]:
        around = await captures.look_around(self.server, pane.place.tmux_pane)
        return around, pane.agent.read_screen(around.screen) if pane.agent.has_box else None

    def _sight(
        self, pane: Pane, parcel: Parcel, around: Surroundings, view: View | None
    ) -> Sight:
        if around.pasted != parcel.receipt:
            return Sight.UNTOUCHED
        if view is None:
            # A screen that cannot be read: what was typed is all that is known.
            return Sight.AGENT if around.entered == parcel.receipt else Sight.BOX
        if view.dialog or view.box is None:
            return Sight.HIDDEN
        if not view.box:
            return Sight.NOWHERE if around.entered == parcel.receipt else Sight.LATE
        # The box was empty when we pasted; if nobody has typed, whatever it shows is ours.
        pasted_last = around.entered != parcel.receipt and self._nobody_types(around)
        ours = pasted_last or pane.agent.holds(view.box, parcel.words)
        return Sight.BOX if ours else Sight.HIDDEN

    def _require_a_free_pane(self, around: Surroundings, view: View | None) -> None:
        """Raise ``Occupied`` if a key pressed now could do harm."""
        since = self.clock.now().timestamp() - self.typing
        if reason := inputs.why_occupied(around, view, typing_since=since):
            raise inputs.occupied(reason)

    def _nobody_types(self, around: Surroundings) -> bool:
        return around.typed_at <= self.clock.now().timestamp() - self.typing


async def _in_time(
    pane: Pane, question: Callable[[], Awaitable[bool]], *, within: float
) -> bool:
    """Ask whenever the pane has changed, until the answer is yes or the time is up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            while True:
                # Taken before the look, so that nothing falls between it and the wait.
                stirred = pane.next_stir()
                if await question():
                    return True
                await stirred.wait()
    return False


def _require_hope(pane: Pane, parcel: Parcel, around: Surroundings) -> None:
    """Raise ``WordsRefused`` if another Enter on the same words would do no good."""
    name = pane.agent.name
    if said := pane.agent.why_refused(around.screen, parcel.words):
        raise WordsRefused(f"{name} refused them: {said}")
    if around.enters >= MOST_ENTERS:
        raise WordsRefused(f"Enter was pressed {around.enters} times, and {name} kept them.")


def _is_left_over(pane: Pane, parcel: Parcel, around: Surroundings, view: View) -> bool:
    """Return whether the box holds words that we typed, and no person has touched since."""
    if around.pasted != parcel.receipt:
        return False
    shown, ours = _unwrapped(view.box or ""), _unwrapped(parcel.words)
    if shown == ours or (view.is_cut and ours.endswith(shown)):
        return True
    # What the box shows only by name, such as a long paste, may be another one's by now.
    is_untouched = around.typed_at <= parcel.since.timestamp()
    return is_untouched and pane.agent.holds(view.box or "", parcel.words)


def _unwrapped(words: str) -> str:
    """Return words as they are whatever the width of the box."""
    return "".join(essence(words).split())


#: Before Enter, a backslash would make a new line of it, and a word after ``@`` be completed.
_UNFINISHED = re.compile(r"(?:\\|(?:^|\s)@\S*)\Z")


def _typed(words: str, view: View | None) -> str:
    """Return what to type: in a box a blank more, where Enter would mean something else."""
    return words + " " if view and _UNFINISHED.search(words) else words
