"""Time from a printed line until Rookery has it: many panes, a line per second each.

Rookery is a ``TmuxRuntime`` in this process, built as in the daemon; a line counts as seen when
the runtime has processed it. Naive is ``tmux capture-pane`` for each pane each second, on the
same panes, after the runtime has stopped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import monotonic_ns
from uuid import uuid4

import anyio
import uvloop

from bench.figures import Figure, percentile
from bench.homes import TIMEOUT_S, end_server, ignoring_interrupts, scratch
from bench.panes import TICK, panes_of, poll, ticker
from bench.sizes import Sizes
from rookery.agents.shell import SHELL
from rookery.clock import WallClock
from rookery.config import LimitSettings
from rookery.model.facts import SessionId
from rookery.ports.runtime import Launch
from rookery.runtimes.tmux.protocol import Event, Output
from rookery.runtimes.tmux.runtime import TmuxRuntime
from rookery.runtimes.tmux.server import ServerSite

_SECOND = 1_000_000_000

#: The goals.
MAX_P99_MS = 100


@dataclass(slots=True)
class Seen:
    """The lines seen so far: when each was printed, and the delay until it was seen, in ms."""

    ticks: dict[str, list[int]] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    def take(self, pane: str, written: bytes, now: int) -> None:
        ticks = self.ticks.setdefault(pane, [])
        for tick in map(int, TICK.findall(written)):
            if not ticks or tick > ticks[-1]:  # a screen still shows older lines
                ticks.append(tick)
                self.latencies.append((now - tick) / 1e6)

    def at(self, percent: float) -> float:
        return percentile(self.latencies, percent)

    @property
    def share(self) -> float:
        """Return the percentage of lines, between the first and the last, that were seen."""
        gaps = sum(_gaps(ticks) for ticks in self.ticks.values())
        return 100 * len(self.latencies) / (len(self.latencies) + gaps)


def _gaps(ticks: Sequence[int]) -> int:
    steps = (after - before for before, after in pairwise(ticks))
    return sum(round(step / _SECOND) - 1 for step in steps)


class Observed(TmuxRuntime):
    """Records when each line arrived."""

    def __init__(self, site: ServerSite, limits: LimitSettings) -> None:
        super().__init__(site, WallClock(), typing=limits.typing_seconds)
        self.seen = Seen()

    def _hear(self, event: Event) -> None:
        super()._hear(event)
        if isinstance(event, Output):
            self.seen.take(event.pane, event.payload, monotonic_ns())


def measure(sizes: Sizes) -> list[Figure]:
    with scratch() as folder:
        socket = folder / "tmux.sock"
        try:
            ours = uvloop.run(_watch(socket, sizes))
            naive = _poll(socket, sizes)
        finally:
            with ignoring_interrupts():
                end_server(socket)
    what = f"{sizes.panes} panes, a line per second each"
    return [
        Figure(f"{what}, p50", "ms", ours.at(50), naive.at(50)),
        Figure(f"{what}, p99", "ms", ours.at(99), naive.at(99), goal=MAX_P99_MS),
        Figure("lines seen", "%", ours.share, naive.share, better="more"),
    ]


async def _watch(socket: Path, sizes: Sizes) -> Seen:
    limits = LimitSettings()
    site = ServerSite("tmux", socket, socket.parent, limits.scrollback_lines)
    runtime, clock, flag = Observed(site, limits), WallClock(), socket.with_name("flag")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.keep)
        for number in range(sizes.panes):
            command = ticker(flag, number / sizes.panes)
            await runtime.start(_launch(command, socket.parent))
        flag.touch()
        with anyio.fail_after(TIMEOUT_S):
            while len(runtime.seen.ticks) < sizes.panes:
                await clock.sleep(0.1)
        runtime.seen = Seen()
        await clock.sleep(sizes.seconds)
        tasks.cancel_scope.cancel()
    return runtime.seen


def _launch(command: tuple[str, ...], folder: Path) -> Launch:
    return Launch(SessionId(str(uuid4())), SHELL, command, {"PATH": os.defpath}, folder)


def _poll(socket: Path, sizes: Sizes) -> Seen:
    """Watch the same panes with the naive method; lines already on the screens do not count."""
    seen, panes = Seen(), panes_of(socket)

    def look(pane: str, screen: str) -> None:
        seen.take(pane, screen.encode(), monotonic_ns())

    poll(socket, panes, 1.0, look)
    seen.latencies.clear()
    seen.ticks = {pane: ticks[-1:] for pane, ticks in seen.ticks.items()}
    poll(socket, panes, sizes.seconds, look)
    return seen
