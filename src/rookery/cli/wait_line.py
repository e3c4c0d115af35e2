"""The line on standard error that shows what a command waits for, in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from time import monotonic
from typing import TypeVar

from rookery.cli.daemon_waits import TimedRequest
from rookery.cli.render import remark
from rookery.cli.tables import width_here
from rookery.client import Client
from rookery.client.sessions import SessionInfo
from rookery.client.streams import ShownEvent, read_events
from rookery.model.errors import Answered, RookeryError
from rookery.presentation.cells import cut
from rookery.presentation.states import state_note
from rookery.presentation.texts import one_line

T = TypeVar("T")

#: Moves the cursor to the start of the line and clears the line.
_CLEAR = "\r\x1b[K"

#: Seconds between two updates of the line.
REDRAW_INTERVAL_S = 1.0

#: The state of a session after an event of this kind; ``input-asked`` names its own state.
_STATES = {
    "session-started": "idle",
    "turn-started": "working",
    "input-settled": "working",
    "turn-ended": "idle",
    "session-ended": "ended",
}


@dataclass(slots=True)
class WaitLine:
    """Shows sessions and their states, the tool of a single session, and the seconds waited."""

    names: dict[str, str]  #: of the sessions, by id
    states: dict[str, str]
    shows_tools: bool = False  #: also print a line for each tool call
    tools: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=monotonic)
    _unshown: list[str] = field(default_factory=list)
    _is_drawn: bool = False

    def follow(self, daemon: Client) -> None:
        """Learn from the daemon's events what the sessions do, until the daemon stops."""
        try:
            for event in read_events(daemon.lines("events")):
                self.learn(event)
        except RookeryError:
            return  # the command itself reports that the daemon has stopped

    def learn(self, event: ShownEvent) -> None:
        """Note what an event says of the states and tools of the sessions."""
        fact = event.fact
        session = fact.session
        if session not in self.names:
            return
        if event.kind == "tool-called":
            self.tools[session] = one_line(fact.tool)
            self._unshown.append(self.tools[session])
        elif event.kind == "input-asked":
            self.states[session] = fact.asks
        elif event.kind in _STATES:
            self.states[session] = _STATES[event.kind]
        if event.kind in {"tool-used", *_STATES}:
            self.tools[session] = ""

    def draw(self) -> None:
        """Draw the line again; with ``shows_tools``, print new tool calls above it first."""
        while self.shows_tools and self._unshown:
            self.clear()
            remark(f"  {cut(self._unshown.pop(0), width_here() - 3)}")
        _write(f"{_CLEAR}{cut(self.text(), width_here() - 1)}")
        self._is_drawn = True

    def clear(self) -> None:
        """Remove the line, so that other text can be printed."""
        if self._is_drawn:
            _write(_CLEAR)
            self._is_drawn = False

    def text(self) -> str:
        """Return what the line says now: `api working 12s · Bash`."""
        seconds = f"{int(monotonic() - self.began)}s"
        if len(self.names) == 1:
            ((session, name),) = self.names.items()
            tool = self.tools.get(session, "")
            state = state_note(self.states[session])
            return f"{name} {state} {seconds}" + (f" · {tool}" if tool else "")
        doing = ", ".join(
            f"{name} {state_note(self.states[each])}" for each, name in self.names.items()
        )
        return f"{seconds} · {doing}"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def shown_during(line: WaitLine | None, ask: TimedRequest[T]) -> TimedRequest[T]:
    """Return a request that redraws the line each second while the daemon holds it."""
    if line is None:
        return ask

    def ask_in_steps(*, timeout: float) -> T:
        deadline = monotonic() + timeout
        try:
            while True:
                line.draw()
                try:
                    return ask(timeout=min(max(deadline - monotonic(), 0.1), REDRAW_INTERVAL_S))
                except Answered as refusal:
                    if refusal.code != "still-working" or monotonic() >= deadline:
                        raise
        finally:
            line.clear()

    return ask_in_steps


@contextmanager
def wait_line(
    daemon: Client, sessions: Iterable[SessionInfo], *, shows_tools: bool = False
) -> Iterator[WaitLine | None]:
    """Yield the line to draw while the body waits; ``None`` outside a capable terminal."""
    if not _is_capable():
        yield None
        return
    found = [*sessions]
    line = WaitLine(
        {each.id: each.name for each in found},
        {each.id: each.state for each in found},
        shows_tools=shows_tools,
    )
    Thread(target=line.follow, args=(daemon,), daemon=True).start()
    try:
        yield line
    finally:
        line.clear()


@contextmanager
def shown_text(text: str) -> Iterator[None]:
    """Show a text in a line while the body waits, in a capable terminal."""
    if not _is_capable():
        yield
        return
    _write(f"{_CLEAR}{cut(text, width_here() - 1)}")
    try:
        yield
    finally:
        _write(_CLEAR)


def _is_capable() -> bool:
    """Return whether standard error is a terminal in which a line can be cleared."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
