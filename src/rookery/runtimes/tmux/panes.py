"""What we remember of each pane while the daemon runs."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from rookery.model.facts import SessionId
from rookery.ports.agent import Agent
from rookery.ports.runtime import Place
from rookery.processes import Process
from rookery.runtimes.tmux.floods import Meter

_BRACKETED = b"\x1b[?2004"

_WIPE = b"\x1b[3J"


@dataclass(slots=True)
class Pane:
    """One program in one pane of our server."""

    session: SessionId
    agent: Agent
    place: Place
    ring_size: int
    #: One writer at a time: words and keys of two must not mix.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: It had tmux forget what has scrolled away, since words were last typed.
    was_wiped: bool = False
    cleared_at: float = -math.inf  #: when its box was last emptied, on the loop's clock
    takes_brackets: bool = False
    is_over: bool = False
    is_attended: bool = True  #: changes of its screen are told
    #: Bytes printed since we watch, and the last of them.
    printed: int = 0
    ring: bytearray = field(default_factory=bytearray)
    last_output: float = 0.0  #: on the loop's clock
    last_line: float = 0.0  #: the same, of a line that it ended, or a look at its rest
    stirred: asyncio.Event | None = None  #: set once it has printed; made for who waits
    changing: asyncio.TimerHandle | None = None
    meter: Meter = field(default_factory=Meter)  #: of what it prints
    watching: int | None = None  #: a descriptor of its process
    window: str = ""  #: the tmux window that is linked into the hub
    server: Process | None = None  #: the tmux server that holds it
    #: Its program: a pid alone may be another's by the time that it is signalled.
    process: Process | None = field(init=False)

    def __post_init__(self) -> None:
        self.process = Process.of(self.place.pid)

    def take(self, payload: bytes, now: float) -> None:
        """Note what it printed."""
        self.last_output = now
        self.printed += len(payload)
        if b"\n" in payload:
            self.last_line = now
        if b"\x1b" in payload or b"\x1b" in self.ring[-len(_BRACKETED) :]:
            self._follow_brackets(payload)
            self.was_wiped |= _WIPE in bytes(self.ring[-len(_WIPE) :]) + payload
        self.ring += payload
        if len(self.ring) > 2 * self.ring_size:  # not at every line: cutting costs a copy
            del self.ring[: -self.ring_size]
        self.stir()

    def only_redraws(self, now: float) -> bool:
        """Whether it prints, and has ended no line for so long that it may be at rest.

        A program without a box may show a clock while it does nothing.
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

    def _follow_brackets(self, payload: bytes) -> None:
        # The sequence may have begun at the end of what came before.
        seen = bytes(self.ring[-len(_BRACKETED) :]) + payload
        at = seen.rfind(_BRACKETED)
        if at >= 0 and (rest := seen[at + len(_BRACKETED) :]):
            self.takes_brackets = rest.startswith(b"h")

    def forget_timer(self) -> None:
        if self.changing:
            self.changing.cancel()
            self.changing = None
