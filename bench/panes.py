"""Panes that print the time, and the naive method to watch them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from bench.homes import pause, tmux, until
from tests.support.real.rookery import Rookery

#: Prints its clock once a second, at its own phase, while the flag file exists.
_TICKER = """
import os, sys, time
flag, phase = sys.argv[1], float(sys.argv[2])
while True:
    time.sleep(1 - (time.monotonic() - phase) % 1)
    if os.path.exists(flag):
        os.write(1, b"T%d\\n" % time.monotonic_ns())
"""

#: Complete ticks only: one that arrived in two pieces is not counted.
TICK = re.compile(rb"T(\d+)\r?\n")


def ticker(flag: Path, phase: float) -> tuple[str, ...]:
    """Return the command line of a ticker that prints ``phase`` seconds into each second."""
    return (sys.executable, "-I", "-S", "-c", _TICKER, str(flag), str(phase))


def start_tickers(rookery: Rookery, count: int, flag: Path) -> None:
    """Start ``count`` sessions that run tickers, and wait until all are up."""
    for number in range(count):
        rookery.client.post(
            "sessions",
            agent="shell",
            name=f"pane-{number}",
            project=str(rookery.project),
            command=ticker(flag, number / count),
        )
    until(lambda: live(rookery) == count, within=60.0)


def live(rookery: Rookery) -> int:
    """Return how many sessions are running."""
    with rookery.database() as db:
        (count,) = db.execute(
            "select count(*) from sessions where status = 'running'"
        ).fetchone()
    return int(count)


def panes_of(socket: Path) -> list[str]:
    """Return the panes of sessions, without those of the hub, which links to them."""
    listed = tmux(socket, "list-panes", "-a", "-F", "#{session_name} #{pane_id}")
    rows = (row.split(" ") for row in listed.splitlines())
    return [pane for name, pane in rows if name.startswith("rk_")]


def poll(
    socket: Path, panes: Sequence[str], seconds: float, look: Callable[[str, str], None]
) -> None:
    """Run ``tmux capture-pane`` for each pane each second, and pass each screen to ``look``."""
    deadline = monotonic() + seconds
    while (began := monotonic()) < deadline:
        for pane in panes:
            look(pane, tmux(socket, "capture-pane", "-p", "-t", pane))
        pause(began + 1 - monotonic())
