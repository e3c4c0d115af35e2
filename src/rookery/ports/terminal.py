"""What Rookery asks of a session's terminal, where it has one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from rookery.model.screens import Press, View


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program without an input box printed since words were last typed into it."""

    lines: tuple[str, ...] = ()  #: unwrapped, from the line that the words stand on
    rest: str = ""  #: what stood there before them: a prompt, or a status
    is_whole: bool = True  #: false if the beginning has scrolled away for good


class Waitable(Protocol):
    """Something that happens once, such as an ``asyncio.Event``."""

    async def wait(self) -> object: ...


class Terminal(Protocol):
    """The terminal of one session. Each call may raise ``RuntimeFailed``."""

    async def read(self, *, history: bool = False) -> tuple[str, ...]:
        """Return the lines of the screen, after those that have scrolled away if wanted."""
        ...

    def screens(self) -> AsyncIterator[tuple[str, ...]]:
        """Yield the present screen, and each later one once it stands still for a moment."""
        ...

    async def view(self) -> View:
        """Return what the agent shows its person."""
        ...

    async def printed(self) -> Printed:
        """Return what was printed since words were last typed, also by an earlier daemon.

        Nothing if no words were typed, or if the program draws a whole screen.
        """
        ...

    def next_change(self) -> Waitable:
        """Return what can be waited for until the screen may have changed.

        Take it before you look at the screen, so that no change is missed.
        """
        ...

    def report_changes(self, *, wanted: bool, again: bool = False) -> None:
        """Say whether the runtime is to tell of changes; at first it does.

        With ``again``, the present screen is told of once more, as if it had just changed.
        """
        ...

    async def press(self, *keys: str) -> None:
        """Press keys by name, whatever is on the screen."""
        ...

    async def press_in_dialog(self, press: Press, *, receipt: str) -> None:
        """Take a step in an open dialog, and keep the receipt where it outlives the daemon."""
        ...

    async def last_receipt(self) -> str:
        """Return the receipt of the last step in a dialog; empty if there was none."""
        ...

    async def is_attached(self) -> bool:
        """Return whether a person looks at the session in a terminal of theirs."""
        ...
