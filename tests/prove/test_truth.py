"""What `ls` says of the four real programs is so: compared with what really happens.

Turns with tools, dialogs, refusals, interruptions, subagents, compactions and crashes are
played at the keyboard; the list is asked for every 50 ms. `make prove` runs this; the figures
are kept in docs/proofs.md.
"""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

from tests.support.prove.driven_player import DRIVEN_PARTS, DrivenPlayer
from tests.support.prove.player import PARTS, Player
from tests.support.prove.rounds import ROUNDS
from tests.support.prove.truth import Figures, Sample
from tests.support.real.agents import configure
from tests.support.real.more_agents import prepare
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = pytest.mark.prove

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)

HANDS = int(os.environ.get("ROOKERY_HANDS", "0"))  #: instead of those, to try it

#: In so many samples of a hundred it must be so.
GOALS = {"claude": 99.9, "codex": 99.9, "opencode": 99.5, "gemini": 98.0}

#: Hands of each runtime of driven programs, and the goal for them.
DRIVEN_HANDS, DRIVEN_GOAL = {"sdk": 3, "codex": 3}, 99.9

#: Seconds between two samples.
BEAT = 0.05


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def rookery(tmp_path: Path, models: ModelServer) -> Iterator[Rookery]:
    """Give a Rookery that knows all four; Gemini's user has installed our hooks."""
    rookery = Rookery(tmp_path)
    configure(rookery, models.url)
    two = rookery.home.settings.read_text()
    prepare(rookery, models)
    rookery.configure(two + rookery.home.settings.read_text())
    settings = rookery.folder / "claude" / "settings.json"
    theirs = json.loads(settings.read_text())
    theirs["permissions"]["allow"] = ["Bash(sleep:*)"]
    settings.write_text(json.dumps(theirs))
    rookery.up()
    gemini = str(rookery.folder / "gemini" / ".gemini")
    rookery.json("hooks", "install", "--agent", "gemini", "--config-dir", gemini, "--yes")
    yield rookery
    rookery.clear_away()


@contextmanager
def sampled(rookery: Rookery) -> Iterator[dict[str, list[Sample]]]:
    """Ask what ``ls`` prints, again and again; give what was said, by the session's name."""
    said: dict[str, list[Sample]] = defaultdict(list)
    over = Event()

    def ask() -> None:
        while not over.is_set():
            asked = monotonic()
            listed = rookery.client.get("sessions")["sessions"]
            answered = monotonic()
            for session in listed:
                said[session["name"]].append(Sample(asked, answered, word_of(session)))
            over.wait(max(0.0, asked + BEAT - monotonic()))

    asking = Thread(target=ask)
    asking.start()
    try:
        yield said
    finally:
        over.set()
        asking.join()


def word_of(session: dict[str, Any]) -> str:
    if session["ended_at"]:
        return "over"
    return str(session["activity"] or session["status"])


def play(rookery: Rookery, models: ModelServer, hands: dict[str, int]) -> dict[str, Figures]:
    """Let these programs play side by side, and judge what was said of them."""
    players = [
        Player(rookery, models, PARTS[agent], random.Random(f"{SEED} {agent}"))  # noqa: S311
        for agent in hands
    ]
    with sampled(rookery) as said, ThreadPoolExecutor() as side_by_side:
        played = [
            side_by_side.submit(player.play, HANDS or hands[player.part.agent])
            for player in players
        ]
        for each in played:
            each.result()
    return {player.part.agent: judged(player, said) for player in players}


def play_driven(
    rookery: Rookery, models: ModelServer, hands: dict[str, int]
) -> dict[str, Figures]:
    """Let programs that are driven by these runtimes play side by side."""
    players: dict[str, DrivenPlayer] = {}
    for runtime in hands:
        chance = random.Random(f"{SEED} {runtime}")  # noqa: S311
        players[runtime] = DrivenPlayer(rookery, models, DRIVEN_PARTS[runtime], chance)
        players[runtime].runtime = runtime
    with sampled(rookery) as said, ThreadPoolExecutor() as side_by_side:
        played = [
            side_by_side.submit(player.play, HANDS or hands[runtime])
            for runtime, player in players.items()
        ]
        for each in played:
            each.result()
    return {runtime: judged(player, said) for runtime, player in players.items()}


def judged(player: Player, said: dict[str, list[Sample]]) -> Figures:
    figures = Figures(turns=player.turns)
    for name, timeline in player.timelines.items():
        figures.add(timeline, said[name])
    figures.answers, figures.misplaced = player.compare_answers()
    return figures


def table(figures: dict[str, Figures]) -> Iterator[str]:
    yield "program   turns  samples  agreeing  at cause  two true  lag p50    p99  worst"
    for agent, each in figures.items():
        lags = "  ".join(f"{each.lag(quantile):5.2f}" for quantile in (0.5, 0.99, 1.0))
        shares = "  ".join(
            f"{100 * part / each.samples:6.2f} %"
            for part in (each.agreeing, each.at_cause, each.open)
        )
        yield f"{agent:8}  {each.turns:5}  {each.samples:7}  {shares}    {lags}"
    for agent, each in figures.items():
        for kind, often in each.wrong.most_common():
            yield f"{agent}: {often} × {kind}"
        yield f"{agent}: {each.answers} answers compared with their prompts"
        yield from (f"{agent}: {line}" for line in each.misplaced)


def show(lines: Sequence[str]) -> None:
    print("\n" + "\n".join(lines))  # noqa: T201 - figures for the docs


@pytest.mark.timeout(3_600)
@pytest.mark.spec("A2", "A6", "C8")
@pytest.mark.parametrize("hands", ROUNDS, ids="-".join)
def test_what_is_said_of_real_agents_is_so(
    rookery: Rookery, models: ModelServer, hands: dict[str, int]
) -> None:
    show([f"seed {SEED}"])

    figures = play(rookery, models, hands)

    show(list(table(figures)))
    missed = {a: each.share for a, each in figures.items() if each.share < GOALS[a]}
    assert not missed, missed
    assert not [line for each in figures.values() for line in each.misplaced]


@pytest.mark.timeout(3_600)
@pytest.mark.spec("G2", "C8")
def test_what_is_said_of_driven_agents_is_so(rookery: Rookery, models: ModelServer) -> None:
    show([f"seed {SEED}"])

    figures = play_driven(rookery, models, DRIVEN_HANDS)

    show(list(table(figures)))
    missed = {name: each.share for name, each in figures.items() if each.share < DRIVEN_GOAL}
    assert not missed, missed
    assert not [line for each in figures.values() for line in each.misplaced]
