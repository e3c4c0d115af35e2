"""Time until the daemon is up: with a long history, surviving panes or spooled hook calls.

The time is from exec to the message "is up", which comes once all sessions are recovered and
the sockets are open. "Without imports" is from the moment at which the daemon takes its lock,
with all modules loaded: login shell, database, tmux, panes, sockets. "First start" is the one
after an upgrade: new readers of the journal have no bookmark in it. Spooled calls are those
that hooks stored while no daemon ran. Naive is ``tmux has-session`` for each pane.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from time import perf_counter, time

from bench.figures import Figure
from bench.histories import write_history, write_spool
from bench.homes import a_home, tmux, until
from bench.panes import live, panes_of, start_tickers
from bench.sizes import Sizes
from tests.support.real.rookery import Rookery

#: The goals.
MAX_UP_MS = 600
MAX_HISTORY_MS, MAX_FIRST_START_MS, MAX_RECOVERY_MS, MAX_SPOOL_MS = 200, 300, 1_000, 1_000


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds from exec to up, and the part without imports."""

    whole: float
    own: float


def measure(sizes: Sizes) -> list[Figure]:
    empty, long, first = _with_history(sizes)
    more = long.own - empty.own
    return [
        Figure("exec to up, empty database", "ms", empty.whole, goal=MAX_UP_MS),
        Figure("  without imports", "ms", empty.own),
        Figure(f"exec to up, {sizes.entries:,} entries", "ms", long.whole),
        Figure("  without imports", "ms", long.own),
        Figure("  longer than with an empty database", "ms", more, goal=MAX_HISTORY_MS),
        Figure(
            "  first start, longer than with an empty database",
            "ms",
            first,
            goal=MAX_FIRST_START_MS,
        ),
        *_with_panes(sizes, empty),
        *_with_spool(sizes, empty),
    ]


def _with_history(sizes: Sizes) -> tuple[Start, Start, float]:
    """Return starts without and with a history, and the difference of the first starts."""
    with a_home() as empty, a_home() as long:
        long.home.prepare()
        write_history(long.home.database, sizes.entries)
        starts: dict[Rookery, list[Start]] = {empty: [], long: []}
        for _ in range(sizes.starts + 1):
            for rookery, found in starts.items():  # alternately, so that load affects both
                start = _start(rookery)
                rookery.stop()
                found.append(start)
    first = starts[long][0].own - starts[empty][0].own
    # Skip the first start of each: it creates tables and a tmux server.
    return _middle(starts[empty][1:]), _middle(starts[long][1:]), first


def _with_panes(sizes: Sizes, empty: Start) -> list[Figure]:
    with a_home() as rookery:
        rookery.up()
        start_tickers(rookery, sizes.panes, rookery.folder / "never")
        starts, adopting, naive = [], [], []
        for _ in range(sizes.starts):
            rookery.kill()
            starts.append(_start(rookery))
            adopting.append(1_000 * (time() - _found_again(rookery, sizes.panes)))
            naive.append(_look_at_each(rookery.home.tmux))
    start = _middle(starts)
    more = start.own - empty.own
    return [
        Figure(
            f"exec to up after kill -9, {sizes.panes} panes recovered",
            "ms",
            start.whole,
            goal=MAX_RECOVERY_MS,
        ),
        Figure("  without imports", "ms", start.own),
        Figure("  from all panes found until up", "ms", median(adopting)),
        Figure("  longer than without panes", "ms", more, median(naive)),
    ]


def _with_spool(sizes: Sizes, empty: Start) -> list[Figure]:
    """Measure a start with hook calls that were spooled while no daemon ran."""
    with a_home() as rookery:
        rookery.up()
        rookery.stop()
        write_spool(rookery.home.spool, sizes.spooled)
        began = perf_counter()
        up = _start(rookery)
        until(lambda: not any(rookery.home.spool.iterdir()), within=300.0)
        whole = 1_000 * (perf_counter() - began)
    return [
        Figure(f"exec to up, {sizes.spooled:,} hook calls spooled", "ms", up.whole),
        Figure("  until all are processed", "ms", whole),
        Figure("  longer than without them", "ms", whole - empty.whole, goal=MAX_SPOOL_MS),
    ]


def _start(rookery: Rookery) -> Start:
    began = perf_counter()
    rookery.up()
    whole, locked = perf_counter() - began, rookery.home.lock.stat().st_mtime
    return Start(1_000 * whole, 1_000 * (time() - locked))


def _found_again(rookery: Rookery, panes: int) -> float:
    """Return when the daemon recorded the last recovered pane, in seconds since 1970."""
    with rookery.database() as db:
        rows = db.execute(
            "select at from entries where kind = 'session-recovered' order by seq desc limit ?",
            (panes,),
        ).fetchall()
    if len(rows) != panes or live(rookery) != panes:
        raise RuntimeError(f"not all of {panes} panes were recovered")
    return datetime.fromisoformat(rows[0][0]).timestamp()


def _look_at_each(socket: Path) -> float:
    """Query tmux for each pane, and return how many milliseconds that takes."""
    began = perf_counter()
    for pane in panes_of(socket):
        tmux(socket, "has-session", "-t", pane)
    return 1_000 * (perf_counter() - began)


def _middle(starts: list[Start]) -> Start:
    return Start(median(start.whole for start in starts), median(start.own for start in starts))
