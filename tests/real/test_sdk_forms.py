"""Forms of MCP servers in a driven Claude Code: the real program asks, a person answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.drivers.events import AskingEnded, ToolEnded, TurnOver
from rookery.model.permissions import Question
from tests.support.driven_session import driving
from tests.support.real.agents import configure
from tests.support.real.driven_claude import ClaudeHome, add_asking_server
from tests.support.real.resumed import last_answer
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

#: Uses the tool that asks, and says what the server got.
ASKING = "tool: mcp__asking__ask {};; result:"


@pytest.fixture
def claude(tmp_path: Path, models: ModelServer) -> ClaudeHome:
    home = ClaudeHome(tmp_path / "claude-home", models.url)
    home.add_asking_server()
    return home


@pytest.mark.anyio
@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("answers", "reply"),
    [
        ({"Your name?": ("Ann of Cleves",)}, ("accept", {"name": "Ann of Cleves"})),
        (None, ("decline", None)),
    ],
)
async def test_the_answer_of_a_person_reaches_the_server(
    claude: ClaudeHome,
    tmp_path: Path,
    answers: dict[str, tuple[str, ...]] | None,
    reply: tuple[str, dict[str, str] | None],
) -> None:
    start = claude.start(claude.spec(allowed_tools=("mcp__asking__ask",)))
    async with driving(start, tmp_path / "events") as driven:
        await driven.prompt(ASKING)
        asked = await driven.asked()
        driven.answer(asked, answers is not None, answers=answers)
        turn = await driven.until(TurnOver)

    assert asked.questions == (Question("Your name?"),)
    got = json.loads(turn.text)
    assert (got["action"], got.get("content")) == reply


@pytest.mark.anyio
@pytest.mark.spec("D5", "G3")
async def test_an_interruption_cancels_the_form(claude: ClaudeHome, tmp_path: Path) -> None:
    start = claude.start(claude.spec(allowed_tools=("mcp__asking__ask",)))
    async with driving(start, tmp_path / "events") as driven:
        await driven.prompt(ASKING)
        asked = await driven.asked()
        await driven.session.interrupt()
        turn = await driven.until(TurnOver)
        after = await driven.ask("say: on")

    assert (turn.how, after) == ("interrupted", TurnOver("on"))
    assert driven.of(AskingEnded) == [AskingEnded(asked.request)]
    assert [each.failed for each in driven.of(ToolEnded)] == [True]


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Iterator[Rookery]:
    configure(cold, models.url)
    add_asking_server(cold.folder / "claude")
    cold.home.rules.write_text('[[allow]]\ntool = "mcp__asking__ask"\n')
    cold.up()
    cold.run("start", "claude", "--runtime", "sdk", "--name", "it", "--wait")
    yield cold
    cold.run("end", "--all", "--yes")


def until(rookery: Rookery, wanted: str) -> None:
    eventually(lambda: rookery.session("it")["activity"] == wanted)


@pytest.mark.spec("D5")
def test_a_form_is_a_question_on_the_command_line_also_after_a_crash(rookery: Rookery) -> None:
    rookery.send("it", ASKING)
    until(rookery, "question")
    rookery.kill()
    rookery.up()
    (request,) = rookery.json("permissions")["requests"]
    rookery.run("answer", "it", "Ann of Cleves")
    until(rookery, "idle")
    answered = last_answer(rookery, "it")
    rookery.send("it", ASKING)
    until(rookery, "question")
    rookery.run("deny", "it")
    until(rookery, "idle")

    assert (request["message"], request["tool"]) == ("Your name?", "Elicitation")
    assert '"content": {"name": "Ann of Cleves"}' in answered
    assert last_answer(rookery, "it") == '{"action": "decline"}'
