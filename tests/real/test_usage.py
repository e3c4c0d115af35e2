"""What the real Claude Code and Codex used: counted by them, and by the model behind them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.claude.agent import CLAUDE
from rookery.agents.codex.agent import CODEX
from rookery.config import load
from rookery.hook_setup.programs import hook_command, write
from rookery.model.sessions import NativeId
from rookery.ports.agent import Agent, LaunchSpec
from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure
from tests.support.real.by_hand import ByHand
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: Two responses each, or one; what goes in is counted by the model, what comes out is stated.
TOOL = "usage: in=100 cache_read=30 cache_write=40 out=7;; bash: echo hi;; say: ran"
PLAIN = "usage: in=1000 out=300;; say: plain"
GATED = "gate: later;; usage: in=5000 out=70;; say: meanwhile"

#: A call of Claude's that starts another agent, which answers once.
SUBAGENT = (
    'tool: Agent {"description": "d", "prompt": "usage: in=40000 out=9000;; say: sub done",'
    ' "subagent_type": "general-purpose", "run_in_background": false}'
    "\nusage: in=2 out=3\nsay: main done"
)


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    cold.up()
    return cold


@pytest.fixture(params=["claude", "codex"])
def agent(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    assert (PROGRAMS / name).exists(), "make agents installs it"
    return name


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ByHand]:
    hand = ByHand(tmp_path)
    yield hand
    hand.clear_away()


def went_in(models: ModelServer, *prompts: str) -> int:
    """Say how many tokens the model was given, for these prompts or for all."""
    heard = [record for record in models.log if not prompts or record.prompt in prompts]
    return sum(record.tokens.input for record in heard if record.tokens)


def is_counted(rookery: Rookery, name: str, tokens: tuple[int, int]) -> None:
    """Wait until a session is said to have used so much."""
    eventually(lambda: used(rookery.session(name)) == tokens)


def used(found: dict[str, Any]) -> tuple[int, int]:
    return found["input_tokens"], found["output_tokens"]


@pytest.mark.spec("G6", "A11")
def test_a_session_used_what_its_model_reported(
    rookery: Rookery, models: ModelServer, agent: str
) -> None:
    rookery.start("it", agent=agent)

    rookery.ask("it", TOOL)
    rookery.ask("it", PLAIN)
    eventually(lambda: used(rookery.session("it"))[0] == went_in(models, TOOL, PLAIN))

    turns = rookery.client.get("sessions", "it", "turns")["turns"]
    assert [used(turn)[0] for turn in turns] == [went_in(models, TOOL), 1000]
    assert [used(turn)[1] for turn in turns] == [8, 300]
    assert used(rookery.session("it"))[1] == 308
    assert rookery.session("it")["cost"] is None
    found = rookery.json("stats")
    assert used(found) == used(rookery.session("it"))
    assert found["tokens_by_agent"] == {agent: sum(used(found))}
    assert (found["most_expensive"]["name"], found["cost_usd"]) == ("it", None)
    assert found["most_expensive"]["tokens"] == sum(used(found))
    row = next(
        line.split() for line in rookery.run("stats").stdout.splitlines() if agent in line
    )
    assert (row[1:3], row[-2:]) == (["1", "2"], ["308", "–"])


@pytest.mark.spec("G6", "A11")
def test_what_has_a_price_has_a_cost(cold: Rookery, models: ModelServer) -> None:
    configure(cold, models.url)
    price = '[prices."claude-opus-*"]\ninput = 5\noutput = 25\ncache_read = 0.5\n'
    cold.configure(cold.home.settings.read_text() + price)
    cold.up()
    cold.start("it", agent="claude")

    cold.ask("it", "usage: in=100000 cache_read=1000000 out=20000;; say: dear")
    eventually(lambda: cold.session("it")["cost"] == 500_000 + 500_000 + 500_000)

    found = cold.json("stats")
    assert (found["cost"], found["cost_by_agent"]) == (1_500_000, {"claude": 1_500_000})
    assert (found["cost_usd"], found["estimated_cost"]) == (1.5, 1_500_000)
    said = cold.run("stats", "--days", "1", "--agent", "claude").stdout
    assert "Most expensive: it, ~$1.50, 1.1M tokens\n" in said
    assert "~ is a cost that was estimated" in said


@pytest.mark.spec("G6", "A7", "K3")
def test_nothing_is_lost_or_counted_twice_when_the_daemon_is_killed(
    rookery: Rookery, models: ModelServer, agent: str
) -> None:
    rookery.start("it", agent=agent)
    rookery.ask("it", PLAIN)
    is_counted(rookery, "it", (1000, 300))
    message = rookery.send("it", GATED)
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    rookery.kill()
    models.open_gate("later")
    eventually(lambda: list(rookery.home.spool.iterdir()))
    rookery.up()
    is_counted(rookery, "it", (6000, 370))
    rookery.kill()
    rookery.up()
    rookery.ask("it", PLAIN)
    is_counted(rookery, "it", (7000, 670))
    rookery.run("end", "it")
    rookery.ended("it")

    with rookery.database() as db:
        reported = db.execute(
            "select sum(json_extract(body, '$.input_tokens')) from entries"
            " where kind = 'usage-reported'"
        ).fetchone()
    assert reported == (7000,)
    turns = rookery.client.get("sessions", "it", "turns")["turns"]
    assert [used(turn) for turn in turns] == [(1000, 300), (5000, 70), (1000, 300)]


@pytest.mark.spec("G6", "A10")
def test_a_conversation_that_is_resumed_is_not_added_twice(
    rookery: Rookery, own: ByHand, agent: str
) -> None:
    rookery.start("it", agent=agent)
    rookery.ask("it", PLAIN)
    is_counted(rookery, "it", (1000, 300))
    native_id = rookery.session("it")["native_id"]
    rookery.run("end", "it")
    rookery.ended("it")

    pane = resume(rookery, own, agent, native_id)
    eventually(lambda: any(box in own.screen(pane) for box in ("❯", "› ")))
    words = "usage: in=20 out=4;; say: again"
    own.tmux("send-keys", "-t", pane, "-l", words)
    eventually(lambda: words in own.screen(pane))  # Codex takes a sooner Enter for a new line
    own.press(pane, "Enter")
    eventually(lambda: (20, 4) in [used(each) for each in alive(rookery, native_id)])

    (again,) = alive(rookery, native_id)
    assert again["transcript_path"] == rookery.session("it")["transcript_path"]
    assert used(rookery.json("stats")) == (1020, 304)


def resume(rookery: Rookery, own: ByHand, agent: str, native_id: str) -> str:
    """Go on with a conversation by hand, in a pane that is none of Rookery's."""
    dialects: dict[str, Agent] = {"claude": CLAUDE, "codex": CODEX}
    write(rookery.home, AGENTS)
    settings = load(rookery.home.settings).agent(agent)
    line = dialects[agent].command_line(
        LaunchSpec(
            command=settings.command,
            native_id=NativeId(native_id),
            model="",
            permission_mode="",
            hook=hook_command(rookery.home, agent),
            folder=rookery.folder,
            resumes=True,
        )
    )
    for file, text in line.files.items():
        file.write_text(text)
    return own.run("again", rookery.project, *line.argv, **settings.environment)


def alive(rookery: Rookery, native_id: str) -> list[dict[str, Any]]:
    found = rookery.client.get("sessions")["sessions"]
    return [each for each in found if each["native_id"] == native_id and each["activity"]]


@pytest.mark.spec("G6")
def test_what_subagents_use_is_their_sessions(rookery: Rookery, models: ModelServer) -> None:
    rookery.start("it", agent="claude")

    rookery.send("it", SUBAGENT)
    models.log.wait_for(lambda record: record.prompt.startswith("usage: in=40000"))
    eventually(lambda: used(rookery.session("it"))[1] > 9000)
    eventually(lambda: used(rookery.session("it"))[0] == went_in(models))


@pytest.mark.spec("G6", "A10", "A11", "K3")
def test_driven_sessions_count_tokens_and_cost_once_over_a_kill_and_a_resume(
    rookery: Rookery,
) -> None:
    driven = ("--runtime", "sdk", "--wait")
    rookery.json("start", "claude", "--name", "it", *driven, PLAIN)
    is_counted(rookery, "it", (1000, 300))
    first = rookery.session("it")["cost"]

    rookery.kill()
    rookery.up()
    rookery.ask("it", PLAIN)
    is_counted(rookery, "it", (2000, 600))
    rookery.run("end", "it")
    rookery.ended("it")
    rookery.json("resume", "it", *driven, PLAIN)
    eventually(lambda: used(rookery.json("stats")) == (3000, 900))

    # The agent's own total goes on over a resume; three equal turns cost three times the first.
    found = rookery.json("stats")
    assert (found["launched"], found["turns"]) == (2, 3)
    assert first > 0
    assert found["cost"] == pytest.approx(3 * first, rel=0.01)
    assert found["estimated_cost"] == 0
    assert sum(found["cost_by_day"].values()) == found["cost"]
    rookery.run("end", "--all")
