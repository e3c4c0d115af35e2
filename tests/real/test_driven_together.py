"""A driven session and one in a terminal: they wait for each other, and talk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.turns import turns
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: Seconds for two real agents, on a busy machine.
SLOWLY = 60.0


@dataclass(frozen=True)
class Pair:
    """Two sessions of one agent: ``driven`` without a terminal, ``typed`` in tmux."""

    rookery: Rookery

    def prompts(self, name: str) -> list[str]:
        return [turn["prompt"] for turn in turns(self.rookery, name)]

    def is_told(self, name: str, words: str) -> bool:
        return any(words in each for each in self.prompts(name))

    def rests(self, name: str) -> bool:
        return bool(self.rookery.session(name)["activity"] == "idle")


@pytest.fixture(params=[("demo", "acp"), ("claude", "sdk")], ids=["demo", "claude"])
def pair(request: pytest.FixtureRequest, cold: Rookery, models: ModelServer) -> Iterator[Pair]:
    agent, runtime = request.param
    configure(cold, models.url)
    cold.up()
    cold.start("driven", agent=agent, runtime=runtime)
    cold.start("typed", agent=agent)
    yield Pair(cold)
    cold.run("end", "--all", "--yes")


@pytest.mark.spec("E1", "E2", "E6")
@pytest.mark.parametrize(
    ("listener", "worker"), [("driven", "typed"), ("typed", "driven")], ids=" for ".join
)
def test_a_listener_is_told_once_that_the_other_has_stopped(
    pair: Pair, listener: str, worker: str
) -> None:
    rookery = pair.rookery
    rookery.run("listen", worker, "--for", listener)

    rookery.ask(worker, "say: built", timeout=SLOWLY)
    eventually(lambda: pair.is_told(listener, "finished its turn"), within=SLOWLY)
    eventually(lambda: pair.rests(listener), within=SLOWLY)
    rookery.ask(worker, "say: once more", timeout=SLOWLY)
    rookery.ask(listener, "say: after", timeout=SLOWLY)

    told = [each for each in pair.prompts(listener) if "finished its turn" in each]
    assert len(told) == 1
    assert rookery.run("listen").stdout == "No session waits for another.\n"


@pytest.mark.spec("E2")
def test_a_listener_is_told_that_a_driven_session_needs_input(pair: Pair) -> None:
    rookery = pair.rookery
    rookery.run("listen", "driven", "--for", "typed")
    is_demo = rookery.session("driven")["agent"] == "demo"

    rookery.send("driven", "permission: Bash ls" if is_demo else "bash: touch made")
    eventually(lambda: pair.is_told("typed", "needs input"), within=SLOWLY)
    rookery.run("deny", "driven")

    assert pair.is_told("typed", "A person must allow or deny it.")


@pytest.mark.spec("F1", "F2", "F3")
def test_a_relay_carries_answers_in_both_directions(pair: Pair) -> None:
    rookery = pair.rookery
    opened = rookery.run("relay", "driven", "typed", "--max-hops", "1")

    rookery.ask("driven", "say: from the driven one", timeout=SLOWLY)
    eventually(lambda: pair.is_told("typed", "from the driven one"), within=SLOWLY)
    eventually(lambda: pair.rests("typed") and pair.rests("driven"), within=SLOWLY)
    rookery.ask("typed", "say: from the typed one", timeout=SLOWLY)
    eventually(lambda: pair.is_told("driven", "from the typed one"), within=SLOWLY)

    assert opened.returncode == 0, opened.stderr
    carried = [each for each in pair.prompts("typed") if "[driven] (" in each]
    assert carried
    assert sum("from the driven one" in each for each in carried) == 1
