"""CPU and memory that the daemon uses with many panes, beyond what tmux itself uses.

Counted are the daemon, its two control clients of tmux, and the additional CPU of tmux's server
compared with no attached client. Naive is ``tmux capture-pane`` for each pane each second,
counted in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from bench.figures import Figure
from bench.homes import a_home, pause, tmux
from bench.panes import panes_of, poll, start_tickers
from bench.processes import usage
from bench.sizes import Sizes
from tests.support.real.rookery import Rookery

#: Percent of a core beyond tmux's own use, with quiet panes; MB of memory.
MAX_QUIET_PERCENT, MAX_MEMORY_MB = 2, 150


@dataclass(frozen=True, slots=True)
class Held:
    """Percent of a core while the daemon runs."""

    daemon: float
    lines: float  #: the two control clients of tmux
    server: float


@dataclass(frozen=True, slots=True)
class Alone:
    """Percent of a core without the daemon."""

    floor: float  #: tmux's server without attached clients
    naive: float  #: the naive method, beyond ``floor``


def measure(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        flag = rookery.folder / "flag"
        rookery.up()
        start_tickers(rookery, sizes.panes, flag)
        idle = _hold(rookery, sizes)
        flag.touch()
        busy = _hold(rookery, sizes)
        memory = psutil.Process(rookery.pid).memory_info().rss / 1e6
        rookery.stop()
        busy_alone = _leave_alone(rookery.home.tmux, sizes)
        flag.unlink()
        idle_alone = _leave_alone(rookery.home.tmux, sizes)
    return [
        *_figures(f"{sizes.panes} quiet panes", idle, idle_alone, goal=MAX_QUIET_PERCENT),
        # No goal: half of it is tmux itself, which writes each line again for the client.
        *_figures(f"{sizes.panes} panes, a line per second each", busy, busy_alone),
        Figure("memory of the daemon at that load", "MB", memory, goal=MAX_MEMORY_MB),
    ]


def _figures(what: str, held: Held, alone: Alone, goal: float | None = None) -> list[Figure]:
    beyond = held.daemon + held.lines + held.server - alone.floor
    return [
        Figure(f"{what}, beyond tmux's own use", "%", beyond, alone.naive, goal=goal),
        Figure("  the daemon", "%", held.daemon),
        Figure("  its two tmux clients", "%", held.lines),
        Figure("  tmux's server", "%", held.server),
        Figure("  tmux's server without attached clients", "%", alone.floor),
    ]


def _hold(rookery: Rookery, sizes: Sizes) -> Held:
    pause(sizes.settling)
    daemon = psutil.Process(rookery.pid)
    groups = {
        "daemon": [daemon],
        "lines": daemon.children(),
        "server": [_server(rookery.home.tmux)],
    }
    found = usage(groups, partial(pause, sizes.window))
    return Held(found["daemon"], found["lines"], found["server"])


def _leave_alone(socket: Path, sizes: Sizes) -> Alone:
    pause(sizes.settling)
    groups = {"server": [_server(socket)]}
    floor = usage(groups, partial(pause, sizes.floor))["server"]
    watching = partial(poll, socket, panes_of(socket), sizes.polling, _ignore)
    naive = usage(groups, watching)
    return Alone(floor, naive[""] + naive["server"] - floor)


def _server(socket: Path) -> psutil.Process:
    return psutil.Process(int(tmux(socket, "display-message", "-p", "#{pid}")))


def _ignore(pane: str, screen: str) -> None:
    """Discard the screen: only the cost of reading it is measured."""
