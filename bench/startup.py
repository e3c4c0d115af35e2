"""How long the daemon takes to come up: with a long history, and to panes that lived on.

The first start on a history is the one after an upgrade: readers of the journal that are new
have no bookmark in it. Spooled calls are those that hooks wrote down while no daemon ran.

From exec to "is up", which it says once everything is found again and its doors are open.
Without imports is from the moment it took its lock, all modules being loaded: the login
shell, the store, tmux, the panes, the doors. Naive is ``tmux has-session`` for each pane.
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

#: Milliseconds.
MORE, FIRST, TAKE_OVER, SPOOLED = 200, 300, 1_000, 1_000


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds from exec to up, and the part of it that is not spent on imports."""

    whole: float
    own: float


def measure(sizes: Sizes) -> list[Figure]:
    empty, long, first = _with_history(sizes)
    more = long.own - empty.own
    return [
        Figure("exec to up, an empty database", "ms", empty.whole),
        Figure("  without imports", "ms", empty.own),
        Figure(f"exec to up, {sizes.entries:,} entries", "ms", long.whole),
        Figure("  without imports", "ms", long.own),
        Figure("  more than with an empty database", "ms", more, goal=MORE),
        Figure("  the first start on it, more than the first on none", "ms", first, goal=FIRST),
        *_with_panes(sizes, empty),
        *_with_spool(sizes, empty),
    ]


def _with_history(sizes: Sizes) -> tuple[Start, Start, float]:
    """Say how long it takes without a history, with one, and how much more the first time."""
    with a_home() as empty, a_home() as long:
        long.home.prepare()
        write_history(long.home.database, sizes.entries)
        starts: dict[Rookery, list[Start]] = {empty: [], long: []}
        for _ in range(sizes.starts + 1):
            for rookery, found in starts.items():  # in turn, so that a busy machine is fair
                start = _start(rookery)
                rookery.stop()
                found.append(start)
    first = starts[long][0].own - starts[empty][0].own
    # The first makes what is not there yet: tables, a tmux server.
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
            f"exec to up after kill -9, {sizes.panes} panes taken over",
            "ms",
            start.whole,
            goal=TAKE_OVER,
        ),
        Figure("  without imports", "ms", start.own),
        Figure("  from all found to all adopted and up", "ms", median(adopting)),
        Figure("  more than without panes", "ms", more, median(naive)),
    ]


def _with_spool(sizes: Sizes, empty: Start) -> list[Figure]:
    """Say how long hook calls take to be known that were written while no daemon ran."""
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
        Figure("  until all are taken in", "ms", whole),
        Figure("  more than without them", "ms", whole - empty.whole, goal=SPOOLED),
    ]


def _start(rookery: Rookery) -> Start:
    began = perf_counter()
    rookery.up()
    whole, locked = perf_counter() - began, rookery.home.lock.stat().st_mtime
    return Start(1_000 * whole, 1_000 * (time() - locked))


def _found_again(rookery: Rookery, panes: int) -> float:
    """Say when the daemon wrote down that it found all panes, in seconds since 1970."""
    with rookery.database() as db:
        rows = db.execute(
            "select at from entries where kind = 'session-recovered' order by seq desc limit ?",
            (panes,),
        ).fetchall()
    if len(rows) != panes or live(rookery) != panes:
        raise RuntimeError(f"not all of {panes} panes were found again")
    return datetime.fromisoformat(rows[0][0]).timestamp()


def _look_at_each(socket: Path) -> float:
    """Ask tmux for each pane, and return how many milliseconds that takes."""
    began = perf_counter()
    for pane in panes_of(socket):
        tmux(socket, "has-session", "-t", pane)
    return 1_000 * (perf_counter() - began)


def _middle(starts: list[Start]) -> Start:
    return Start(median(start.whole for start in starts), median(start.own for start in starts))
