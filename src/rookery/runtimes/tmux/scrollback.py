"""Find what a program printed since a message was typed, by a mark stored in its pane.

Counting lines is not enough: tmux drops the oldest of them by the thousand, and a program may
clear them all. So the mark identifies the lines above it by digests.
"""

from __future__ import annotations

import base64
import json
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2s

from rookery.model.screens import shape
from rookery.ports.terminal import Printed
from rookery.runtimes.tmux.captures import PaneText, read_foot, read_roll
from rookery.runtimes.tmux.server import AnyServer

#: The number of lines above a mark whose digests it stores.
MARKED_LINES = 32

#: Characters stored of the line on which a program rests.
MAX_REST_CHARACTERS = 200

#: tmux drops a full scrollback's oldest tenth at once: its size divided by this.
DROPPED_FRACTION = 10


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a message was typed: the number of lines above, and digests of the last of them."""

    count: int  #: lines above it, down to the last that is not blank
    above: tuple[str, ...]  #: digests of the last of them
    rest: str  #: the text on the line where the message was typed
    below: str  #: a digest of the shape of the lines below
    typed: int  #: length of the message's last line, without blanks
    echo: str  #: a digest of that line
    is_full_screen: bool = False

    @property
    def text(self) -> str:
        """The encoded mark: safe characters only, whatever a program has printed."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @staticmethod
    def read(text: str) -> Mark | None:
        """Decode a stored mark; ``None`` if Rookery did not write it."""
        try:
            fields = json.loads(base64.urlsafe_b64decode(text))
            return Mark(**{**fields, "above": tuple(fields["above"])})
        except (NotBase64, ValueError, TypeError, KeyError):
            return None


async def mark(server: AnyServer, pane: str, words: str) -> Mark:
    """Return a mark for a message that is about to be typed."""
    roll = await read_roll(server, pane)
    return mark_in(roll, await read_foot(server, pane), words)


def mark_in(roll: PaneText, foot: Sequence[str], words: str) -> Mark:
    """Return a mark at the end of what a pane shows."""
    *above, rest = roll.lines
    count = len(above)
    while count and not above[count - 1].strip():
        count -= 1  # blank so far: some programs rest at the bottom of an empty screen
    typed = _squeezed(words.strip().split("\n")[-1])
    return Mark(
        count=count,
        above=tuple(map(_digest, above[max(count - MARKED_LINES, 0) : count])),
        rest=rest.strip()[:MAX_REST_CHARACTERS],
        below=_digest(shape("\n".join(foot[1:]))),
        typed=len(typed),
        echo=_digest(typed),
        is_full_screen=roll.is_full_screen,
    )


async def since_mark(server: AnyServer, pane: str, *, was_wiped: bool) -> Printed:
    """Return what was printed since a message was typed, from the line that shows it."""
    return printed_in(await read_roll(server, pane), was_wiped=was_wiped)


def printed_in(roll: PaneText, *, was_wiped: bool) -> Printed:
    """Return the output after the mark; empty without a mark or on the alternate screen.

    ``was_wiped``: the scrollback was cleared since.
    """
    mark = Mark.read(roll.mark)
    if mark is None or mark.is_full_screen or roll.is_full_screen:
        return Printed()
    begin = _Search(mark, roll, was_wiped).begin()
    return Printed(roll.lines[begin:], mark.rest, is_whole=begin > 0 or not roll.is_full)


async def is_at_rest(server: AnyServer, pane: str) -> bool:
    """Return whether the program's resting line looks as it did when the message was typed.

    Only the shape is compared: a clock or a counter changes.
    """
    mark = Mark.read((await read_roll(server, pane, history=False)).mark)
    on, *below = await read_foot(server, pane)
    if mark is None or shape(on[:MAX_REST_CHARACTERS]) != shape(mark.rest):
        return False
    return mark.below in {"", _digest(shape("\n".join(below)))}


class _Search:
    """Searches the current lines for the position of a mark."""

    def __init__(self, mark: Mark, roll: PaneText, was_wiped: bool) -> None:
        self._mark = mark
        self._lines = roll.lines
        self._digests = tuple(map(_digest, roll.lines))
        self._is_full = roll.is_full
        self._limit = roll.limit
        self._was_wiped = was_wiped

    def begin(self) -> int:
        """Return the index of the first line after the mark."""
        count = self._mark.count
        is_certain = not self._was_wiped and not self._is_full
        if not count or (is_certain and self._fits(count)):
            return count
        # The last match: the same may have been asked and answered repeatedly.
        fitting = list(filter(self._fits, range(len(self._lines) - 1, 0, -1)))
        if echoed := next(filter(self._has_echo, fitting), None):
            return echoed
        if self._was_wiped:
            return 0
        if fitting:  # a program that does not echo input
            return next(filter(set(fitting).__contains__, self._counted()), fitting[0])
        return self._most_alike()

    def _counted(self) -> Iterator[int]:
        """Yield where the mark is if no lines were dropped, and after each possible drop."""
        step = max(self._limit // DROPPED_FRACTION, 1) if self._is_full else self._mark.count
        yield from range(self._mark.count, 0, -step)

    def _fits(self, place: int) -> bool:
        compared = min(len(self._mark.above), place)
        above = self._digests[place - compared : place]
        return place < len(self._lines) and above == self._mark.above[-compared:]

    def _has_echo(self, place: int) -> bool:
        following = (_squeezed(each) for each in self._lines[place:])
        line = next(filter(None, following), "")
        return bool(line) and _digest(line[-self._mark.typed :]) == self._mark.echo

    def _most_alike(self) -> int:
        """Return the index above which most lines match the stored ones; 0 if none fits."""
        best, most_alike = 0, 0
        for place in range(1, len(self._lines)):
            compared = min(len(self._mark.above), place)
            above = self._mark.above[-compared:]
            pairs = zip(self._digests[place - compared : place], above, strict=True)
            alike = sum(ours == theirs for ours, theirs in pairs if theirs)
            if alike > most_alike and 2 * alike >= sum(map(bool, above)):
                best, most_alike = place, alike
        return best


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _digest(line: str) -> str:
    """Return a short digest of a line; empty for an empty line."""
    text = line.rstrip()
    return blake2s(text.encode(errors="replace"), digest_size=4).hexdigest() if text else ""
