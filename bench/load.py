"""Many starts at once, a pane that prints very much, and the delay of a live view.

The limit of the printing pane is the same in a bare tmux without attached clients.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import monotonic_ns, perf_counter
from typing import Any

from bench.figures import Figure
from bench.homes import a_home, end_server, ignoring_interrupts, scratch, tmux, until
from bench.panes import live, start_tickers
from bench.sizes import Sizes
from tests.support.real.rookery import Rookery

#: Factor by which a flood may take longer than in a bare tmux; milliseconds of a live view.
MAX_FLOOD_FACTOR, MAX_VIEW_DELAY_MS = 1.15, 60

CALLERS = 32

#: Repetitions of each kind: a single one takes between 0.75 and 1.5 s, bare or not.
FLOODS = 9

_TICK = re.compile(r"\bT(\d+)\b")

#: Prints a number of MB in lines of 100 bytes, and writes the time it took into a file.
_FLOOD = """
import os, sys, time
megabytes, file = int(sys.argv[1]), sys.argv[2]
block = (b"x" * 99 + b"\\n") * 1000
began = time.perf_counter()
for _ in range(10 * megabytes):
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(1, rest) :]
with open(file + ".part", "w") as out:
    out.write(str(time.perf_counter() - began))
os.rename(file + ".part", file)
time.sleep(600)
"""


def measure(sizes: Sizes) -> list[Figure]:
    return [*_burst(sizes), *_flood(sizes), *_view(sizes)]


def _burst(sizes: Sizes) -> list[Figure]:
    """Start many sessions at once; each one that does not come up counts as failed."""
    with a_home() as rookery, ThreadPoolExecutor(CALLERS) as threads:
        rookery.configure(f"[limits]\ntmux_sessions = {sizes.burst + 1}\n")
        rookery.up()
        began = perf_counter()
        list(threads.map(lambda n: _start(rookery, f"one-{n}"), range(sizes.burst)))
        until(lambda: live(rookery) + _failed(rookery) == sizes.burst, within=600.0)
        took, up = perf_counter() - began, live(rookery)
    what = f"{sizes.burst} sessions started at once"
    return [
        Figure(f"{what}: up", "", up, goal=sizes.burst, better="more"),
        Figure("  until the last is up", "s", took),
    ]


def _start(rookery: Rookery, name: str) -> Any:  # noqa: ANN401 - JSON
    project = str(rookery.project)
    command = ["sh", "-c", "echo ready; exec sleep 600"]
    return rookery.client.post(
        "sessions", agent="shell", name=name, project=project, command=command
    )


def _failed(rookery: Rookery) -> int:
    with rookery.database() as db:
        query = "select count(*) from sessions where status = 'failed'"
        return int(db.execute(query).fetchone()[0])


def _flood(sizes: Sizes) -> list[Figure]:
    ours, bare = [], []
    for _ in range(FLOODS):  # alternately, so that load affects both
        bare.append(_flood_bare(sizes.flood))
        ours.append(_flood_ours(sizes.flood))
    took, limit = median(ours), median(bare)
    what = f"a pane prints {sizes.flood} MB"
    return [Figure(what, "s", took, limit=limit, goal=MAX_FLOOD_FACTOR * limit)]


def _flood_ours(megabytes: int) -> float:
    with a_home() as rookery:
        rookery.up()
        file = rookery.folder / "took"
        rookery.client.post(
            "sessions",
            agent="shell",
            name="flood",
            project=str(rookery.project),
            command=[sys.executable, "-I", "-S", "-c", _FLOOD, str(megabytes), str(file)],
        )
        return _seconds(file)


def _flood_bare(megabytes: int) -> float:
    with scratch() as folder:
        socket, file = folder / "tmux.sock", folder / "took"
        program = [sys.executable, "-I", "-S", "-c", _FLOOD, str(megabytes), str(file)]
        try:
            size = ("-x", "200", "-y", "50")
            tmux(socket, "-f", "/dev/null", "new-session", "-d", *size, *program)
            return _seconds(file)
        finally:
            with ignoring_interrupts():
                end_server(socket)


def _seconds(file: Path) -> float:
    until(file.exists, within=300.0)
    return float(file.read_text())


def _view(sizes: Sizes) -> list[Figure]:
    """Measure the time from a printed line to the frame that shows it."""
    behind: list[float] = []
    with a_home() as rookery:
        rookery.up()
        flag = rookery.folder / "flag"
        start_tickers(rookery, 1, flag)
        frames, seen = rookery.client.lines("sessions", "pane-0", "frames"), 0
        flag.touch()
        for frame in frames:
            latest = max(map(int, _TICK.findall(frame)), default=0)
            if latest > seen:
                seen = latest
                behind.append((monotonic_ns() - seen) / 1e6)
            if len(behind) >= sizes.frames:
                break
    return [Figure("delay of a live view, p50", "ms", median(behind), goal=MAX_VIEW_DELAY_MS)]
