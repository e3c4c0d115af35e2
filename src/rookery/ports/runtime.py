"""What we ask of a runtime: that which runs sessions and speaks to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Protocol, TypeAlias

from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.screens import Press, View
from rookery.ports.agent import Agent


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program without a box has printed since words were last typed into it."""

    lines: tuple[str, ...] = ()  #: unwrapped, from the line that the words stand on
    rest: str = ""  #: what stood there before them: a prompt, or a status
    is_whole: bool = True  #: false if the beginning has scrolled away for good


class Sight(Enum):
    """What can be seen of some words."""

    BOX = auto()  #: they, and nothing else, stand in the input box
    AGENT = auto()  #: the agent has them
    LATE = auto()  #: they were typed, and do not show yet
    NOWHERE = auto()  #: Enter was pressed on them, and they are gone from the box
    UNTOUCHED = auto()  #: they were never typed
    HIDDEN = auto()  #: a dialog or somebody's draft is in the way; look again later


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


Sighting: TypeAlias = Exited | Vanished | Changed | FellQuiet | Skipped


class Waitable(Protocol):
    """Something that happens once, such as an ``asyncio.Event``."""

    async def wait(self) -> object: ...


class Runtime(Protocol):
    """Holds sessions and can speak to them. Each call may raise ``RuntimeFailed``."""

    async def start(self, launch: Launch) -> Place:
        """Run the program; if it already runs under that session's name, take it over."""
        ...

    async def find(self) -> Mapping[str, Place]:
        """Say what is held now, by its name."""
        ...

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        """Watch over what was found. Raises ``RuntimeFailed`` if it has gone meanwhile."""
        ...

    async def paste(self, parcel: Parcel) -> None:
        """Put words into the empty input box. Raises ``Occupied`` with nothing done.

        That it was done is written down where it outlives us, in the same breath.
        """
        ...

    async def submit(self, parcel: Parcel) -> None:
        """Press Enter on them. Raises ``Occupied`` if anything else stands there.

        Raises ``WordsRefused`` if the program has refused them, or keeps them in its box after
        as many Enters as are ever pressed.
        """
        ...

    async def clear(self, parcel: Parcel) -> bool:
        """Empty the input box if these words, and nothing else, stand in it.

        Returns whether it did. Raises ``Occupied`` if a key could do harm.
        """
        ...

    async def look(self, parcel: Parcel) -> Sight:
        """Say where the words are."""
        ...

    async def press(self, session: SessionId, *keys: str) -> None:
        """Press keys by name, whatever is on the screen."""
        ...

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        """Take a step in an open dialog, and leave the receipt where it outlives us."""
        ...

    async def given(self, session: SessionId) -> str:
        """Return the receipt of the last step that was taken in a dialog; empty if none."""
        ...

    def check_keys(self, *keys: str) -> None:
        """Raise ``BadInput`` for a key that nobody knows."""
        ...

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        """Name the session whose program is one of these processes (``Process.word``)."""
        ...

    def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        """Give the present screen, and each later one once it stands still for a moment."""
        ...

    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        """Return the screen as its lines, with what has scrolled away before them or not."""
        ...

    async def view(self, session: SessionId) -> View:
        """Return what its agent shows its person."""
        ...

    def next_change(self, session: SessionId) -> Waitable:
        """Return what can be waited for until the screen may have changed.

        Take it before you look at the screen, so that no change falls in between.
        """
        ...

    def attend(self, session: SessionId, *, to_screen: bool) -> None:
        """Say whether ``Changed`` is wanted for a session; at first it is."""
        ...

    async def shown(self, parcel: Parcel, *, within: float) -> bool:
        """Wait until pasted words stand in the box. False if they do not in time."""
        ...

    def check(self, session: SessionId, words: str) -> None:
        """Raise ``WordsRefused`` if these would not arrive as they are."""
        ...

    async def printed(self, session: SessionId) -> Printed:
        """Return what was printed since words were last typed, also by an earlier daemon.

        Nothing where they were never typed, or where the program draws a whole screen.
        """
        ...

    async def is_attached(self, session: SessionId) -> bool:
        """Whether a person looks at it in a terminal of theirs."""
        ...

    async def quit(self, session: SessionId) -> None:
        """Ask the program to leave in its own way. Raises ``Occupied`` with nothing done."""
        ...

    async def signal(self, session: SessionId, number: int) -> None:
        """Send a signal to the program and to all that it started."""
        ...

    async def release(self, session: SessionId) -> None:
        """Let go of what held the session; what it left in the background is its own affair."""
        ...

    def watch(self) -> AsyncIterator[Sighting]:
        """Tell what is seen, for as long as one listens."""
        ...

    def see_again(self, sighting: Sighting) -> None:
        """Tell once more what could not be written down."""
        ...
