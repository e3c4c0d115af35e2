"""What the ACP adapter of Claude Code asks as a form, for itself and for MCP servers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rookery.drivers.events import Asked, AskingEnded, TurnOver
from rookery.model.permissions import Question
from tests.support.acp_sessions import AcpSession, of
from tests.support.real.acp_agents import CASES, line_of
from tests.support.real.driven_claude import add_asking_server
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]

CLAUDE = next(case for case in CASES if case.agent == "claude")

SLOWLY = 90.0


def question(text: str, *options: str, several: bool = False) -> dict[str, Any]:
    listed = [{"label": each, "description": f"it is {each}"} for each in options]
    return {"question": text, "header": "H", "multiSelect": several, "options": listed}


def asking(*questions: dict[str, Any]) -> str:
    """Return the steps of the scripted model that ask, and say what was answered."""
    return f"tool: AskUserQuestion {json.dumps({'questions': questions})};; result:"


@pytest.fixture
async def session(tmp_path: Path, models: ModelServer) -> AsyncIterator[AcpSession]:
    (tmp_path / "project").mkdir()
    environment = dict(CLAUDE.seed(tmp_path, tmp_path / "project", models.url))
    add_asking_server(tmp_path / "claude")
    async with AcpSession(tmp_path, line_of(CLAUDE, tmp_path), environment) as session:
        await session.up()
        yield session


@pytest.mark.anyio
@pytest.mark.spec("D5", "G1")
@pytest.mark.parametrize(
    ("given", "told"), [("Beta", '"Which?"="Beta"'), ("neither", '"Which?"="neither"')]
)
async def test_a_question_is_answered_by_an_option_or_free_text(
    session: AcpSession, given: str, told: str
) -> None:
    before = await session.begin(asking(question("Which?", "Alpha", "Beta")))
    asked = await session.until(Asked)
    await session.answer(asked, allow=True, answers={"Which?": (given,)})
    over = await session.over(before)

    described = ("it is Alpha", "it is Beta")
    assert asked.questions == (Question("Which?", ("Alpha", "Beta"), descriptions=described),)
    assert asked.tool == "AskUserQuestion"
    assert told in over.text


@pytest.mark.anyio
@pytest.mark.spec("D5")
async def test_several_questions_are_answered_together(session: AcpSession) -> None:
    both = asking(question("Which?", "A", "B"), question("What?", "C", "D", several=True))
    before = await session.begin(both)
    asked = await session.until(Asked)
    first, second = (each.text for each in asked.questions)
    await session.answer(asked, allow=True, answers={first: ("A",), second: ("C", "D")})
    over = await session.over(before)

    assert [each.takes_several for each in asked.questions] == [False, True]
    assert '"Which?"="A"' in over.text
    assert '"What?"="C, D"' in over.text


@pytest.mark.anyio
@pytest.mark.spec("D5", "G3")
async def test_a_question_is_declined_and_an_interruption_cancels_one(
    session: AcpSession,
) -> None:
    before = await session.begin(asking(question("Which?", "A", "B")))
    await session.answer(await session.until(Asked), allow=False)
    declined = await session.over(before)
    before = await session.begin(asking(question("Which?", "A", "B")))
    asked = await session.until(Asked, after=before)
    await session.driven.interrupt()
    interrupted = await session.over(before)

    assert declined.how == "finished"
    assert interrupted.how == "interrupted"
    assert AskingEnded(asked.request) in of(AskingEnded, session.events)
    assert (await session.say("say: on"))[-1] == TurnOver("on")


@pytest.mark.anyio
@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("answers", "reply"),
    [
        ({"Your name?": ("Ann",)}, {"action": "accept", "content": {"name": "Ann"}}),
        (None, {"action": "decline"}),
    ],
)
async def test_the_form_of_an_mcp_server_is_answered(
    session: AcpSession,
    answers: dict[str, tuple[str, ...]] | None,
    reply: dict[str, Any],
) -> None:
    before = await session.begin("tool: mcp__asking__ask {};; result:")
    await session.answer(await session.until(Asked), allow=True)
    form = await session.until_found(
        lambda event: isinstance(event, Asked) and bool(event.questions)
    )
    assert isinstance(form, Asked)
    await session.answer(form, allow=answers is not None, answers=answers or {})
    over = await session.over(before)

    assert form.questions == (Question("Your name?"),)
    assert json.loads(over.text) == reply


@pytest.mark.spec("D5")
def test_a_question_is_answered_on_the_command_line(cold: Rookery, models: ModelServer) -> None:
    environment = CLAUDE.seed(cold.folder, cold.project, models.url)
    lines = ["[agents.claude]", f"acp = {json.dumps(CLAUDE.command)}"]
    lines.append("[agents.claude.environment]")
    lines += [f"{name} = {json.dumps(value)}" for name, value in environment.items()]
    cold.configure("\n".join(lines) + "\n")
    cold.up()
    cold.start("it", agent="claude", runtime="acp")
    cold.send("it", asking(question("Which?", "Alpha", "Beta")))
    eventually(lambda: cold.session("it")["activity"] == "question", within=SLOWLY)
    cold.run("answer", "2")
    eventually(lambda: cold.session("it")["activity"] == "idle", within=SLOWLY)
    answer = cold.json("output", "it")["turns"][-1]["answer"]
    cold.run("end", "--all", "--yes")

    assert '"Which?"="Beta"' in answer
