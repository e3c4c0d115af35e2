"""The real agents that speak ACP: by the driver alone, and through a real daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from rookery.drivers.events import (
    Asked,
    Ended,
    FileChanged,
    PromptTaken,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from tests.support.acp_sessions import AcpSession, of
from tests.support.real.acp_agents import CASES, AcpCase, line_of
from tests.support.real.hostile_repository import Trap
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300), pytest.mark.anyio]

#: Seconds for a program that needs several to start, while others do so too.
SLOWLY = 90.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> AcpCase:
    found: AcpCase = request.param
    assert Path(found.command[-1]).exists(), "make test-agents installs it"
    return found


@pytest.fixture
def environment(case: AcpCase, tmp_path: Path, models: ModelServer) -> dict[str, str]:
    project = tmp_path / "project"
    project.mkdir()
    return dict(case.seed(tmp_path, project, models.url))


@pytest.fixture
async def session(
    case: AcpCase, tmp_path: Path, environment: dict[str, str]
) -> AsyncIterator[AcpSession]:
    async with AcpSession(tmp_path, line_of(case, tmp_path), environment) as session:
        await session.up()
        yield session


@pytest.mark.spec("G1", "G2", "G6")
async def test_a_prompt_is_answered_and_its_tokens_are_reported(session: AcpSession) -> None:
    events = await session.say("say: hello over acp")
    assert events[0] == PromptTaken("say: hello over acp")
    assert events[-1] == TurnOver("hello over acp")
    assert sum(each.output_tokens for each in of(Used, events)) == 3


@pytest.mark.spec("D2")
async def test_an_allowed_command_runs(session: AcpSession, case: AcpCase) -> None:
    before = await session.begin(f"{case.run.format(file='made.txt')} say: ran")
    asked = await session.until(Asked)
    await session.answer(asked, allow=True)
    over = await session.over(before)
    assert (asked.tool, asked.input["command"]) == (case.shell, "touch made.txt")
    assert over == TurnOver("ran")
    assert (session.project / "made.txt").exists()
    (ended,) = of(ToolEnded, session.events)
    assert not ended.failed


@pytest.mark.spec("D2")
async def test_a_refused_command_does_not_run(session: AcpSession, case: AcpCase) -> None:
    before = await session.begin(f"{case.run.format(file='made.txt')} say: went on")
    await session.answer(await session.until(Asked), allow=False)
    over = await session.over(before)
    assert over == (TurnOver("went on") if case.goes_on else TurnOver("", "interrupted"))
    assert not (session.project / "made.txt").exists()
    (ended,) = of(ToolEnded, session.events)
    assert ended.failed
    assert (await session.say("say: on"))[-1] == TurnOver("on")


async def test_a_file_is_written_after_one_question(session: AcpSession, case: AcpCase) -> None:
    file = session.project / "new.txt"
    before = await session.begin(f"write: {file} hello;; say: wrote")
    asked = await session.until(Asked)
    assert asked.tool == case.editor
    assert str(file) in json.dumps(asked.input)
    await session.answer(asked, allow=True)
    assert await session.over(before) == TurnOver("wrote")
    assert file.read_text().strip() == "hello"
    assert len(session.questions) == 1
    assert {each.path for each in of(FileChanged, session.events)} == {str(file)}


@pytest.mark.spec("G3")
async def test_an_interrupt_ends_a_question_and_the_turn(
    session: AcpSession, case: AcpCase
) -> None:
    before = await session.begin(f"{case.run.format(file='made.txt')} say: ran")
    await session.until(Asked)
    await session.driven.interrupt()
    assert (await session.over(before)).how == "interrupted"
    assert not (session.project / "made.txt").exists()
    assert (await session.say("say: on"))[-1] == TurnOver("on")


@pytest.mark.spec("G3")
async def test_an_interrupt_stops_an_answer(session: AcpSession) -> None:
    before = await session.begin("say: a;; gate: never;; say: b")
    await session.until(PromptTaken)
    await session.driven.interrupt()
    assert (await session.over(before)).how == "interrupted"


async def test_it_ends_when_it_is_closed(session: AcpSession) -> None:
    await session.driven.close()
    assert await session.ended() == Ended("completed", "it was closed")


@pytest.mark.spec("A10")
async def test_a_conversation_goes_on_after_a_resume(
    case: AcpCase, tmp_path: Path, environment: dict[str, str]
) -> None:
    async with AcpSession(tmp_path, line_of(case, tmp_path), environment) as first:
        native_id = (await first.up()).native_id
        await first.say("say: the secret is 42")
    _make_older(tmp_path)
    line = line_of(case, tmp_path, resumes=native_id)
    async with AcpSession(tmp_path, line, environment) as second:
        assert (await second.up()).native_id == native_id
        events = await second.say("saw: the secret is 42")
    assert events[-1] == TurnOver("saw the secret is 42: yes")
    assert of(ToolBegan, second.events) == []


@pytest.mark.spec("A10")
async def test_a_branch_of_a_conversation_knows_it_and_has_an_id_of_its_own(
    case: AcpCase, tmp_path: Path, environment: dict[str, str]
) -> None:
    async with AcpSession(tmp_path, line_of(case, tmp_path), environment) as first:
        native_id = (await first.up()).native_id
        await first.say("say: the secret is 42")
    line = line_of(case, tmp_path, forks=native_id)
    async with AcpSession(tmp_path, line, environment) as second:
        if case.agent == "gemini":
            reason = "this agent cannot branch a conversation over ACP."
            assert (await second.ended()).reason == reason
            return
        assert (await second.up()).native_id != native_id
        events = await second.say("saw: the secret is 42")
    assert events[-1] == TurnOver("saw the secret is 42: yes")


@pytest.mark.spec("A3")
async def test_nothing_of_a_repository_runs_before_the_user_trusts_it(
    case: AcpCase, tmp_path: Path, models: ModelServer
) -> None:
    if case.agent == "opencode":
        pytest.skip("it runs the plugins of any project, in a terminal too")
    for name in ("elsewhere", "project", "marks"):
        (tmp_path / name).mkdir()
    environment = case.seed(tmp_path, tmp_path / "elsewhere", models.url)
    trap = Trap(tmp_path / "project", tmp_path / "marks", models)
    trap.lay()
    async with AcpSession(tmp_path, line_of(case, tmp_path), environment) as session:
        if case.agent == "codex":  # its adapter would accept the folder
            assert "does not trust this folder" in (await session.ended()).reason
        else:
            before = await session.begin(f"{case.run.format(file='made.txt')} say: ran")
            await session.answer(await session.until(Asked), allow=False)
            await session.over(before)

    assert trap.marks_left() == []
    assert str(trap.folder) not in "".join(_texts(tmp_path / "codex"))


def _texts(folder: Path) -> list[str]:
    return [file.read_text() for file in folder.glob("*.toml")]


def _make_older(place: Path) -> None:
    """Let Gemini's conversations be from another minute.

    It writes one that is loaded in the minute of its beginning over the old file.
    """
    for file in place.glob("gemini/.gemini/tmp/*/chats/session-*.jsonl"):
        head, _, tail = file.name.partition("T")
        file.rename(file.with_name(f"{head}T00-00-{tail.split('-', 2)[2]}"))


@pytest.fixture
def rookery(cold: Rookery, case: AcpCase, models: ModelServer) -> Iterator[Rookery]:
    environment = case.seed(cold.folder, cold.project, models.url)
    lines = [f"[agents.{case.agent}]", f"acp = {json.dumps(case.command)}"]
    lines.append(f"[agents.{case.agent}.environment]")
    lines += [f"{name} = {json.dumps(value)}" for name, value in environment.items()]
    cold.configure("\n".join(lines) + "\n")
    cold.up()
    yield cold
    cold.run("end", "--all")


@pytest.mark.spec("G1", "G3", "D1", "D2")
def test_a_daemon_drives_it_under_the_users_rules(rookery: Rookery, case: AcpCase) -> None:
    rookery.home.rules.write_text(
        f'[[allow]]\nname = "it"\ntool = "{case.shell}"\ninput.command = "touch allowed*"\n'
        f'[[deny]]\nname = "no"\ntool = "{case.shell}"\ninput.command = "touch denied*"\n'
    )
    rookery.home.rules.chmod(0o600)
    model = {"model": case.model} if case.model else {}
    rookery.start("it", agent=case.agent, runtime="acp", **model)
    hello = rookery.ask("it", "say: hello", timeout=SLOWLY)
    rookery.ask("it", f"{case.run.format(file='allowed.txt')} say: ran", timeout=SLOWLY)
    rookery.ask("it", f"{case.run.format(file='denied.txt')} say: ran", timeout=SLOWLY)
    rookery.send("it", f"{case.run.format(file='asked.txt')} say: made it")
    eventually(lambda: rookery.json("permissions")["requests"], within=SLOWLY)
    rookery.run("allow")
    eventually(lambda: rookery.session("it")["activity"] == "idle", within=SLOWLY)

    assert hello == "hello"
    made = {each.name for each in rookery.project.glob("*.txt")}
    assert made == {"allowed.txt", "asked.txt"}
    assert rookery.json("output", "it")["turns"][-1]["answer"] == "made it"


@pytest.mark.spec("I2")
def test_it_can_use_rookerys_own_tools_unasked(rookery: Rookery, case: AcpCase) -> None:
    model = {"model": case.model} if case.model else {}
    rookery.start("it", agent=case.agent, runtime="acp", **model)
    rookery.send("it", f"tool: {OWN_TOOL[case.agent]} {{}};; result:")
    eventually(lambda: len(rookery.json("output", "it")["turns"]) == 1, within=SLOWLY)
    eventually(lambda: rookery.session("it")["activity"] == "idle", within=SLOWLY)
    assert rookery.session("it")["id"] in rookery.json("output", "it")["turns"][-1]["answer"]


#: The name of Rookery's tool that lists sessions, in each agent.
OWN_TOOL = {
    "claude": "mcp__rookery__list_sessions",
    "codex": "mcp__rookery__list_sessions",
    "gemini": "mcp_rookery_list_sessions",
    "opencode": "rookery_list_sessions",
}
