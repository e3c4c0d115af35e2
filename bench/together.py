"""Time from an agent's stop until the agent that listens has the notification.

Both times are from the daemon's journal: the entry of the stop, and the entry of the listening
agent's own prompt event. Naive is to check each second whether the agent has stopped, type the
notification, wait a second, and press Enter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import isqrt
from pathlib import Path
from sqlite3 import Connection
from time import perf_counter

from bench.deliveries import is_idle, prompts_told, seconds, type_naively
from bench.figures import Figure, percentile
from bench.homes import a_home, pause, scratch, until
from bench.panes import live
from bench.sizes import Sizes
from rookery.clock import WallClock
from rookery.coordination import listeners
from rookery.coordination.listeners import listen
from rookery.model.facts import SessionId, SessionStarted, TurnEnded
from rookery.model.listeners import Listener
from rookery.store import sessions
from rookery.store.connections import open_file
from rookery.store.journal import Journal
from rookery.store.migrations import migrate
from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery
from tests.support.rows import make
from tests.support.scripted_model.server import ModelServer

#: The goals.
MAX_DEMO_P50_MS, MAX_DEMO_P99_MS, MAX_CLAUDE_P50_MS = 120, 500, 300

#: Factor by which one of many listeners may cost more than one of few.
MAX_FACTOR_OF_FEW = 1.5

#: When each stop with a listener was recorded, and when the listener had its notification.
TOLD = """
    select stop.at, proof.at
    from messages join entries as stop on stop.seq = cause
    join entries as proof on proof.seq = acknowledged_by
    where author = 'listeners' order by messages.id
"""


def measure(sizes: Sizes) -> list[Figure]:
    return [*_demo(sizes), *_real(sizes), *_many(sizes)]


def _demo(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        rookery.up()
        _start(rookery, sizes.waiting, caller="demo")
        ours = _ours(rookery, sizes)
        naive = _naive(rookery, sizes.naive_words)
    what = f"demo, {sizes.waiting} sessions, {len(ours)} stops"
    return [
        Figure(
            f"{what}, p50",
            "ms",
            percentile(ours, 50),
            percentile(naive, 50),
            goal=MAX_DEMO_P50_MS,
        ),
        Figure(
            f"{what}, p99",
            "ms",
            percentile(ours, 99),
            percentile(naive, 99),
            goal=MAX_DEMO_P99_MS,
        ),
    ]


def _real(sizes: Sizes) -> list[Figure]:
    if not (PROGRAMS / "claude").exists():
        return [Figure("Claude Code listens (make test installs it)", "ms", None)]
    with ModelServer() as models, a_home() as rookery:
        configure(rookery, models.url)
        rookery.up()
        _start(rookery, 2, caller="claude")
        ours = _ours(rookery, sizes, count=sizes.real_words)
        naive = _naive(rookery, sizes.naive_real_words)
    what = f"Claude Code listens, {len(ours)} stops, p50"
    return [
        Figure(what, "ms", percentile(ours, 50), percentile(naive, 50), goal=MAX_CLAUDE_P50_MS)
    ]


def _start(rookery: Rookery, count: int, *, caller: str) -> None:
    names = [("caller", caller), *((f"worker-{n}", "demo") for n in range(count - 1))]
    for name, agent in names:
        rookery.client.post("sessions", agent=agent, name=name, project=str(rookery.project))
    until(lambda: live(rookery) == count, within=120.0)
    until(lambda: is_idle(rookery, "caller"), within=60.0)


def _ours(rookery: Rookery, sizes: Sizes, count: int | None = None) -> list[float]:
    """Return how many milliseconds each notification took."""
    rounds, workers = count or sizes.words, len(_workers(rookery))
    for number in range(rounds):
        worker = f"worker-{number % workers}"
        rookery.client.post("listeners", targets=[worker], caller="caller")
        rookery.send(worker, f"say: {number}")
        until(partial(_are_told, rookery, number + 1))
        until(lambda: is_idle(rookery, "caller"))
    return [1_000 * (told - stopped) for stopped, told in _told(rookery)]


def _workers(rookery: Rookery) -> list[str]:
    found = rookery.client.get("sessions")["sessions"]
    return [each["name"] for each in found if each["name"] != "caller"]


def _are_told(rookery: Rookery, count: int) -> bool:
    return len(_told(rookery)) >= count


def _told(rookery: Rookery) -> list[tuple[float, float]]:
    return [(stopped, told) for stopped, told in _times(rookery, TOLD)]


def _times(rookery: Rookery, query: str) -> list[list[float]]:
    with rookery.database() as db:
        return [[seconds(at) for at in row] for row in db.execute(query)]


def _naive(rookery: Rookery, count: int) -> list[float]:
    """Poll once a second, type, wait a second, press Enter; return the milliseconds of each."""
    pane, took = str(rookery.session("caller")["tmux_pane"]), []
    for number in range(count):
        stops = len(_stops(rookery))
        known = len(prompts_told(rookery))
        rookery.send("worker-0", f"say: naive {number}")
        pause(number / count)  # vary when the poll comes after the stop
        while len(_stops(rookery)) == stops:
            pause(1.0)
        type_naively(rookery, pane, f"say: worker-0 has stopped, {number}")
        until(partial(_are_prompted, rookery, known + 2))
        took.append(1_000 * (prompts_told(rookery)[-1] - _stops(rookery)[stops]))
        until(lambda: is_idle(rookery, "caller"))
    return took


def _are_prompted(rookery: Rookery, count: int) -> bool:
    return len(prompts_told(rookery)) >= count


def _stops(rookery: Rookery) -> list[float]:
    query = (
        "select at from entries join sessions on id = session"
        " where kind = 'turn-ended' and name = 'worker-0' order by seq"
    )
    return [at for (at,) in _times(rookery, query)]


def _many(sizes: Sizes) -> list[Figure]:
    few, many = (_cost(count) for count in (sizes.listeners // 10, sizes.listeners))
    what = f"a listener created and fired, one of {sizes.listeners:,}"
    return [
        Figure(what, "µs", many, goal=MAX_FACTOR_OF_FEW * few),
        Figure(f"  one of {sizes.listeners // 10:,}", "µs", few),
    ]


def _cost(count: int) -> float:
    """Return the microseconds to create and fire one of ``count`` listeners."""
    side = isqrt(count)
    with scratch() as folder:
        db, journal = _prepared(folder / "rookery.db")
        names = [[SessionId(f"{kind}{n}") for n in range(side)] for kind in "ct"]
        rows = [make(journal, each) for each in (*names[0], *names[1])]
        db.execute("begin immediate")
        for session in rows:
            sessions.add(db, session)
            journal.append(db, SessionStarted(session.id))
        took = _time(db, journal, *names)
        db.close()
    return 1_000_000 * took / (side * side)


def _prepared(path: Path) -> tuple[Connection, Journal]:
    db = open_file(path)
    migrate(db)
    journal = Journal("here", WallClock(), {"listeners": listeners.READER})
    journal.show_page("listeners", db)
    return db, journal


def _time(
    db: Connection,
    journal: Journal,
    callers: Sequence[SessionId],
    targets: Iterable[SessionId],
) -> float:
    began = perf_counter()
    for target in targets:
        for caller in callers:
            listen(db, journal, Listener(caller=caller, target=target))
        journal.append(db, TurnEnded(target, "Done."))
    while journal.show_page("listeners", db):
        pass
    db.execute("commit")
    return perf_counter() - began
