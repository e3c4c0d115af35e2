"""Time from an accepted message until the agent's own prompt event with the same text.

All times are those in the daemon's journal, read at the end; the time of an event is the moment
at which the agent ran its hook. The limit is one ``tmux`` call that pastes the text and presses
Enter, until the same event. Naive is ``tmux send-keys`` with the text, a pause of one second
and ``tmux send-keys Enter``, until the same event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from bench.deliveries import (
    Delivery,
    is_idle,
    paste_at_once,
    prompts_told,
    read,
    send,
    type_naively,
)
from bench.figures import Figure, percentile
from bench.homes import a_home, until
from bench.panes import live
from bench.sizes import Sizes
from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

#: The goals.
MAX_DEMO_P95_MS, MAX_CLAUDE_P95_MS, MAX_CROWD_MS = 150, 300, 150

#: The percentile that a goal is set for.
GOAL_PERCENTILE = 95


def measure(sizes: Sizes) -> list[Figure]:
    return [*_demo(sizes), *_real(sizes), *_crowd(sizes)]


def _demo(sizes: Sizes) -> list[Figure]:
    with a_home() as rookery:
        rookery.up()
        rookery.start("it")
        ours = _ours(rookery, sizes.words)
        naive = _typed(rookery, sizes.naive_words, type_naively)
        limit = _typed(rookery, sizes.naive_words, _paste)
    return [*_figures("demo", ours, naive, limit, goal=MAX_DEMO_P95_MS), *_parts(ours)]


def _real(sizes: Sizes) -> list[Figure]:
    if not (PROGRAMS / "claude").exists():
        return [Figure("Claude Code (make test installs it)", "ms", None)]
    with ModelServer() as models, a_home() as rookery:
        configure(rookery, models.url)
        rookery.up()
        rookery.start("it", agent="claude")
        ours = _ours(rookery, sizes.real_words)
        naive = _typed(rookery, sizes.naive_real_words, type_naively)
        limit = _typed(rookery, sizes.naive_real_words, _paste)
    return [*_figures("Claude Code", ours, naive, limit, goal=MAX_CLAUDE_P95_MS), *_parts(ours)]


def _ours(rookery: Rookery, count: int) -> list[Delivery]:
    send(rookery, "it", "say: warm")
    return read(rookery, [send(rookery, "it", f"say: {number}") for number in range(count)])


def _typed(
    rookery: Rookery, count: int, type_words: Callable[[Rookery, str, str], float]
) -> list[float]:
    """Return how many milliseconds each text took, typed without Rookery."""
    pane, took = str(rookery.session("it")["tmux_pane"]), []
    for number in range(count):
        known = len(prompts_told(rookery))
        began = type_words(rookery, pane, f"say: typed {number}")
        took.append(1_000 * (_all_told(rookery, known + 1) - began))
        until(lambda: is_idle(rookery, "it"))
    return took


def _paste(rookery: Rookery, pane: str, words: str) -> float:
    return paste_at_once(rookery, [pane], words)


def _figures(
    who: str,
    ours: Sequence[Delivery],
    naive: Sequence[float],
    limit: Sequence[float],
    *,
    goal: float,
) -> list[Figure]:
    whole = [each.whole for each in ours]
    return [
        Figure(
            f"{who}, {len(ours)} messages one by one, p{percent}",
            "ms",
            percentile(whole, percent),
            percentile(naive, percent),
            limit=percentile(limit, percent),
            goal=goal if percent == GOAL_PERCENTILE else None,
        )
        for percent in (50, GOAL_PERCENTILE)
    ]


def _parts(ours: Sequence[Delivery]) -> list[Figure]:
    waiting = [each.taken_up - each.written for each in ours]
    typing = [each.acknowledged - each.taken_up for each in ours]
    return [
        Figure("  until the dispatcher takes it, p50", "ms", 1_000 * median(waiting)),
        Figure(
            "  then until the agent has it and runs its hook, p50", "ms", 1_000 * median(typing)
        ),
    ]


def _crowd(sizes: Sizes) -> list[Figure]:
    names = [f"one-{number}" for number in range(sizes.crowd)]
    with a_home() as rookery, ThreadPoolExecutor(sizes.crowd) as threads:
        rookery.up()
        for name in names:
            rookery.client.post(
                "sessions", agent="demo", name=name, project=str(rookery.project)
            )
        until(lambda: live(rookery) == sizes.crowd, within=60.0)
        messages = list(threads.map(lambda name: rookery.send(name, "say: all"), names))
        _all_told(rookery, sizes.crowd)
        ours = read(rookery, messages)
        until(lambda: all(is_idle(rookery, name) for name in names))
        panes = [str(rookery.session(name)["tmux_pane"]) for name in names]
        began = min(threads.map(lambda pane: type_naively(rookery, pane, "say: naive"), panes))
        naive = _all_told(rookery, 2 * sizes.crowd) - began
        until(lambda: all(is_idle(rookery, name) for name in names))
        began = paste_at_once(rookery, panes, "say: limit")
        limit = _all_told(rookery, 3 * sizes.crowd) - began
    took = max(each.acknowledged for each in ours) - min(each.written for each in ours)
    what = f"demo, {sizes.crowd} sessions at once, until the last has its message"
    return [
        Figure(what, "ms", 1_000 * took, 1_000 * naive, limit=1_000 * limit, goal=MAX_CROWD_MS)
    ]


def _all_told(rookery: Rookery, count: int) -> float:
    """Wait for ``count`` prompt events, and return when the last was recorded."""
    until(lambda: len(prompts_told(rookery)) >= count)
    return prompts_told(rookery)[-1]
