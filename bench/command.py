"""Time of commands beyond a bare Python, and requests per second that the socket answers.

A request lists the sessions, on a new connection, as every command does. The limit of a command
is curl with the same request; naive is ``tmux list-panes -a``. ``ls --all`` and ``doctor`` run
on a home with a long history.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter

from bench.figures import Figure
from bench.histories import revive, write_history
from bench.homes import a_home, tmux
from bench.panes import start_tickers
from bench.sizes import Sizes
from tests.support.real.rookery import Rookery

CALLERS = 8

BARE = (sys.executable, "-c", "pass")

REQUEST = b"GET /v1/sessions HTTP/1.1\r\nHost: rookery\r\nConnection: close\r\n\r\n"

#: Milliseconds beyond a bare Python: of ``ls`` with a few and with many sessions, and of
#: commands that read a long history.
MAX_LIST_MS, MAX_LONG_LIST_MS, MAX_LONG_HISTORY_MS = 60, 100, 500

#: Live sessions in the long list.
MANY_SESSIONS = 200


def measure(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        rookery.up()
        start_tickers(rookery, sizes.listed, rookery.folder / "never")
        found = [*_commands(rookery, sizes), *_calls(rookery, sizes)]
    return [*found, *_of_many(sizes), *_after_long_use(sizes)]


def _commands(rookery: Rookery, sizes: Sizes) -> list[Figure]:
    curl = ["curl", "-s", "--unix-socket", str(rookery.home.door), "http://x/v1/sessions"]
    listing, bare, limit = _times(rookery, sizes, [*_program(), "ls"], BARE, curl)
    return [
        Figure("rookery ls beyond a bare Python", "ms", listing - bare, goal=MAX_LIST_MS),
        Figure(f"  rookery ls, {sizes.listed} sessions", "ms", listing, limit=limit),
        Figure("  python -c pass", "ms", bare),
    ]


def _of_many(sizes: Sizes) -> list[Figure]:
    """Measure the list of many live sessions, each with its last answer."""
    with a_home() as rookery:
        rookery.home.prepare()
        write_history(rookery.home.database, 100 * MANY_SESSIONS)
        revive(rookery.home.database)
        rookery.up()
        listing, bare = _times(rookery, sizes, [*_program(), "ls"], BARE)
    what = f"rookery ls, {MANY_SESSIONS} live sessions"
    return [Figure(what, "ms", listing - bare, goal=MAX_LONG_LIST_MS)]


def _after_long_use(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        rookery.home.prepare()
        write_history(rookery.home.database, 100 * sizes.kept)
        rookery.up()
        commands = [*_program(), "ls", "--all"], [*_program(), "doctor"]
        everything, doctor, bare = _times(rookery, sizes, *commands, BARE)
    return [
        Figure(
            f"rookery ls --all, {sizes.kept:,} sessions",
            "ms",
            everything - bare,
            goal=MAX_LONG_HISTORY_MS,
        ),
        Figure(
            f"rookery doctor, {100 * sizes.kept:,} entries",
            "ms",
            doctor - bare,
            goal=MAX_LONG_HISTORY_MS,
        ),
    ]


def _times(rookery: Rookery, sizes: Sizes, *commands: Sequence[str]) -> list[float]:
    """Return the median time of each command; they alternate, so that load affects all."""
    found: list[list[float]] = [[] for _ in commands]
    for _ in range(sizes.commands):
        for command, took in zip(commands, found, strict=True):
            took.append(_run(rookery, command))
    return [median(took) for took in found]


def _program() -> Sequence[str]:
    """Return the command that users run; it is installed beside the interpreter."""
    installed = Path(sys.executable).with_name("rookery")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "rookery"]


def _run(rookery: Rookery, words: Sequence[str]) -> float:
    began = perf_counter()
    subprocess.run(
        words,
        env=rookery.environment,
        cwd=rookery.project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return 1_000 * (perf_counter() - began)


def _calls(rookery: Rookery, sizes: Sizes) -> list[Figure]:
    client = rookery.client
    one = _rate(lambda: client.get("sessions"), sizes.calling)
    naive = _rate(lambda: tmux(rookery.home.tmux, "list-panes", "-a"), sizes.calling)
    many = CALLERS * _rate(lambda: _call_at_once(rookery.home.door), sizes.calling)
    what = f"list of {sizes.listed} sessions"
    return [
        Figure(f"{what}, one client", "requests/s", one, naive, better="more"),
        Figure(f"{what}, {CALLERS} clients at once", "requests/s", many, better="more"),
    ]


def _call_at_once(door: Path) -> None:
    """Send all requests, then read all responses: the client must not be the bottleneck."""
    with ExitStack() as stack:
        calls = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(CALLERS)]
        for call in calls:
            call.connect(str(door))
            call.sendall(REQUEST)
        for call in calls:
            while call.recv(1 << 20):
                pass


def _rate(call: Callable[[], object], seconds: float) -> float:
    began, count = monotonic(), 0
    while monotonic() - began < seconds:
        call()
        count += 1
    return count / (monotonic() - began)
