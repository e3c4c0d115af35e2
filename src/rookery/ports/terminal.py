"""The interface of a session's terminal, where it has one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from rookery.model.screens import Press, View


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program without an input box printed since a message was last typed into it."""

    lines: tuple[str, ...] = ()  #: unwrapped, from the line on which the message was typed
    rest: str = ""  #: the text on that line before the message: a prompt or a status
    is_whole: bool = True  #: false if the beginning has been dropped from the scrollback
    #: False while a shell certainly runs a command, however quiet it is; nothing is read then.
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class TerminalAddress:
    """Where a person finds a terminal in tmux: the fields of a session that show it."""

    tmux_session: str
    tmux_pane: str
    tmux_server: str | None = None  #: its socket, if not Rookery's own


class Waitable(Protocol):
    """Something that happens once, such as an ``asyncio.Event``."""

    async def wait(self) -> object: ...


class Terminal(Protocol):
    """The terminal of one session. Each call may raise ``RuntimeFailed``."""

    async def read(self, *, history: bool = False) -> tuple[str, ...]:
        """Return the lines of the screen; with ``history``, preceded by the scrollback."""
        ...

    def screens(self) -> AsyncIterator[tuple[str, ...]]:
        """Yield the current screen, and again after changes, at a limited rate."""
        ...

    async def view(self) -> View:
        """Return what the agent's screen shows."""
        ...

    async def printed(self) -> Printed:
        """Return what was printed since a message was last typed, also by an earlier daemon.

        Empty if none was typed, or if the program uses the full screen.
        """
        ...

    def next_change(self) -> Waitable:
        """Return an event that is set once the screen may have changed.

        Take it before reading the screen, so that no change is missed.
        """
        ...

    def report_changes(self, *, wanted: bool, again: bool = False) -> None:
        """Set whether the runtime reports changes; it does so by default.

        With ``again``, it reports the current screen once more, as if it had just changed.
        """
        ...

    async def press(self, *keys: str) -> None:
        """Press keys by name, regardless of what is on the screen."""
        ...

    async def press_in_dialog(self, press: Press, *, receipt: str) -> None:
        """Take a step in an open dialog, and store the receipt where it outlives the daemon."""
        ...

    async def last_receipt(self) -> str:
        """Return the receipt of the last step in a dialog; empty if there was none."""
        ...

    async def is_attached(self) -> bool:
        """Return whether a person is attached to the session in a terminal."""
        ...
