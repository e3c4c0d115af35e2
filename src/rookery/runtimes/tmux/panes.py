"""The daemon's in-memory state of each pane."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeAlias

from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.processes import Process
from rookery.processes.exit_watch import ExitWatch
from rookery.runtimes.tmux.floods import OutputMeter
from rookery.runtimes.tmux.places import Place

_BRACKETED = b"\x1b[?2004"

_WIPE = b"\x1b[3J"

#: A task that an event causes and that takes a while.
Chore: TypeAlias = Callable[[], Coroutine[None, None, None]]


@dataclass(slots=True)
class Suspension:
    """What is known of a program that ctrl-z may have suspended."""

    tty: str = ""  #: the terminal device; empty if it was not looked up yet
    has_read_keys: bool = False  #: it was seen to read single keys: it is up
    attempts: int = 0  #: how often it was told to continue since it last read keys
    check: asyncio.TimerHandle | None = None  #: the next look at it


@dataclass(slots=True)
class Pane:
    """One program in one pane."""

    session: SessionId
    agent: Agent
    place: Place
    #: One writer at a time: the input of two deliveries must not mix.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: The program cleared the scrollback since a message was last typed.
    was_wiped: bool = False
    cleared_at: float = -math.inf  #: when its box was last emptied, in event-loop time
    pasted_at: float = -math.inf  #: when text was last pasted into it, like ``last_output``
    takes_brackets: bool = False
    is_over: bool = False
    is_attended: bool = True  #: changes of its screen are reported
    tail: bytes = b""  #: the last bytes that it printed: an escape sequence may begin there
    last_output: float = 0.0  #: in event-loop time; if it is polled, in seconds since 1970
    last_line: float = 0.0  #: the same, of the last newline or check whether it rests
    stirred: asyncio.Event | None = None  #: set once it prints; created on demand
    changing: asyncio.TimerHandle | None = None
    meter: OutputMeter = field(default_factory=OutputMeter)  #: measures its output rate
    watch: ExitWatch | None = None  #: reports the end of its process
    window: str = ""  #: the tmux window that is linked into the hub
    server: Process | None = None  #: the tmux server that holds it
    suspension: Suspension = field(default_factory=Suspension)
    #: Its program, with the start time: the pid may be reused before a signal is sent.
    process: Process | None = field(init=False)

    def __post_init__(self) -> None:
        self.process = Process.of(self.place.pid)

    def take(self, payload: bytes, now: float) -> None:
        """Record output of the program."""
        self.last_output = now
        if b"\n" in payload:
            self.last_line = now
        seen = self.tail + payload
        if b"\x1b" in seen:
            self._follow_brackets(seen)
            self.was_wiped |= _WIPE in self.tail[1 - len(_WIPE) :] + payload
        self.tail = seen[-len(_BRACKETED) :]
        self.stir()

    def only_redraws(self, now: float) -> bool:
        """Return whether the program prints, but ends no line: it may be idle.

        A program without an input box may show a clock while it does nothing.
        """
        return self.agent.screen is None and now - self.last_line >= self.agent.input.quiet

    def next_stir(self) -> asyncio.Event:
        """Return an event that is set once it has printed something more."""
        if self.stirred is None:
            self.stirred = asyncio.Event()
        return self.stirred

    def stir(self) -> None:
        if self.stirred is not None:
            self.stirred.set()
            self.stirred = None

    def _follow_brackets(self, seen: bytes) -> None:
        at = seen.rfind(_BRACKETED)
        if at >= 0 and (rest := seen[at + len(_BRACKETED) :]):
            self.takes_brackets = rest.startswith(b"h")

    def stop_watching(self) -> None:
        """Cancel the timers and the watch on its process."""
        self.is_over = True
        self.stir()
        if self.changing:
            self.changing.cancel()
            self.changing = None
        if self.suspension.check:
            self.suspension.check.cancel()
            self.suspension.check = None
        if self.watch:
            self.watch.cancel()
            self.watch = None
