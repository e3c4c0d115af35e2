"""The driver ``sdk`` with the real Claude Code, without a daemon."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from rookery.drivers.events import (
    Asked,
    AskingEnded,
    Ended,
    FileChanged,
    Noticed,
    PromptTaken,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Up,
    Used,
)
from rookery.model.sessions import NativeId
from tests.support.driven_session import Driven, driving
from tests.support.real.driven_claude import ClaudeHome
from tests.support.real.rookery import eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real]

QUESTION = {
    "question": "Which?",
    "header": "Choice",
    "multiSelect": True,
    "options": [{"label": each, "description": each} for each in ("A", "B")],
}


@pytest.fixture
def claude(tmp_path: Path, models: ModelServer) -> ClaudeHome:
    return ClaudeHome(tmp_path / "claude-home", models.url)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events"


def cost_of(driven: Driven) -> int:
    return sum(each.cost or 0 for each in driven.of(Used))


@pytest.mark.spec("G1", "G2")
async def test_a_session_answers_several_prompts_and_ends(
    claude: ClaudeHome, events: Path
) -> None:
    start = claude.start()
    async with driving(start, events) as driven:
        first = await driven.ask("say: one")
        second = await driven.ask("think: hm;; bash: echo hi;; say: two")

    assert [first, second] == [TurnOver("one"), TurnOver("two")]
    assert driven.events[0] == Up(start.options["native_id"])
    assert driven.of(PromptTaken)[0] == PromptTaken("say: one")
    assert [each.result for each in driven.of(ToolEnded)] == ["hi"]
    assert driven.events[-1] == Ended("completed", "it was closed")


@pytest.mark.spec("G2")
async def test_a_single_turn_is_completed(claude: ClaudeHome, events: Path) -> None:
    async with driving(claude.start(is_single_turn=True), events) as driven:
        await driven.prompt("say: done")
        ended = await driven.ended()

    assert driven.of(TurnOver) == [TurnOver("done")]
    assert ended == Ended("completed", "its only turn is over")


@pytest.mark.spec("G3")
async def test_a_turn_is_interrupted_in_the_middle_of_a_tool(
    claude: ClaudeHome, events: Path
) -> None:
    pid = claude.folder / "pid"
    spec = claude.spec(allowed_tools=("Bash",))
    async with driving(claude.start(spec), events) as driven:
        wait = f"echo $$ > {pid}; until [ -e never ]; do sleep 0.1; done"
        await driven.prompt(f"bash: {wait};; say: never")
        await asyncio.to_thread(eventually, lambda: _number_in(pid))
        await driven.session.interrupt()
        stopped = await driven.until(TurnOver)
        after = await driven.ask("say: on")
        await asyncio.to_thread(eventually, lambda: not psutil.pid_exists(_number_in(pid)))

    assert stopped.how == "interrupted"
    assert after == TurnOver("on")


def _number_in(file: Path) -> int:
    return int(file.read_text() or 0) if file.exists() else 0


@pytest.mark.spec("G3")
async def test_a_prompt_during_a_tool_is_taken_into_the_turn(
    claude: ClaudeHome, events: Path, models: ModelServer
) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt(
            f"bash: until [ -e {claude.folder}/go ]; do sleep 0.1; done;; say: first"
        )
        await driven.until(ToolBegan)
        await driven.prompt("say: steered")
        (claude.folder / "go").touch()
        turn = await driven.until(TurnOver)

    assert driven.of(PromptTaken)[1:] == [PromptTaken("say: steered", is_steering=True)]
    assert driven.of(TurnOver) == [turn]
    assert turn.text == "steered"


@pytest.mark.spec("G3")
async def test_a_prompt_during_the_last_text_has_a_turn_of_its_own(
    claude: ClaudeHome, events: Path, models: ModelServer
) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt("say: a;; gate: last;; say: first")
        await driven.until(PromptTaken)
        await driven.prompt("say: second")
        models.open_gate("last")
        await driven.until(TurnOver, number=2)

    assert driven.of(PromptTaken)[1] == PromptTaken("say: second")
    assert driven.of(TurnOver) == [TurnOver("first"), TurnOver("second")]


@pytest.mark.spec("D2")
async def test_permissions_are_asked_for_allowed_and_denied(
    claude: ClaudeHome, events: Path
) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt("bash: touch yes;; bash: touch no;; result:")
        first = await driven.asked()
        driven.answer(first, True)
        driven.answer(await driven.asked(number=2), False, "not that one")
        turn = await driven.until(TurnOver)

    assert (first.tool, first.input["command"]) == ("Bash", "touch yes")
    assert [each.name for each in claude.project.iterdir()] == ["yes"]
    assert turn.text == "not that one"
    assert [each.failed for each in driven.of(ToolEnded)] == [False, True]


@pytest.mark.spec("D5")
async def test_a_question_is_answered(claude: ClaudeHome, events: Path) -> None:
    async with driving(claude.start(), events) as driven:
        asked_for = json.dumps({"questions": [QUESTION]})
        await driven.prompt(f"tool: AskUserQuestion {asked_for};; result:")
        asked = await driven.asked()
        driven.answer(asked, True, answers={"Which?": ("A", "B")})
        turn = await driven.until(TurnOver)

    assert asked.tool == "AskUserQuestion"
    assert '"Which?"="A, B"' in turn.text


@pytest.mark.spec("D5")
async def test_a_plan_is_shown_and_approved(claude: ClaudeHome, events: Path) -> None:
    async with driving(claude.start(claude.spec(permission_mode="plan")), events) as driven:
        await driven.prompt('tool: ExitPlanMode {"plan": "do it"};; result:')
        asked = await driven.asked()
        driven.answer(asked, True)
        turn = await driven.until(TurnOver)

    expected = Asked(asked.request, "ExitPlanMode", {"plan": "do it"}, asked.call_id)
    assert asked == expected
    assert "approved" in turn.text


async def test_an_interruption_withdraws_what_was_asked(
    claude: ClaudeHome, events: Path
) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt("bash: touch x")
        asked = await driven.asked()
        await driven.session.interrupt()
        turn = await driven.until(TurnOver)

    assert turn.how == "interrupted"
    assert driven.of(AskingEnded) == [AskingEnded(asked.request)]


@pytest.mark.spec("G1", "G2")
@pytest.mark.parametrize("of_host", [50_000, None])
async def test_a_budget_ends_the_session_in_the_middle_of_its_turn(
    claude: ClaudeHome, events: Path, of_host: int | None
) -> None:
    spec = claude.spec(budget=50_000, allowed_tools=("Bash",))
    step = "usage: in=1000 out=1000;; bash: echo x;; "
    async with driving(claude.start(spec, budget=of_host), events) as driven:
        await driven.prompt(step * 9 + "say: never")
        ended = await driven.ended()

    (turn,) = driven.of(TurnOver)
    assert (turn.how, ended.outcome, ended.is_over_budget) == ("failed", "failed", True)
    assert "budget" in ended.reason
    assert len(driven.of(ToolBegan)) < 9


async def test_an_overload_is_noticed_and_fails_the_turn_but_not_the_session(
    claude: ClaudeHome, events: Path
) -> None:
    claude.environment["CLAUDE_CODE_MAX_RETRIES"] = "1"
    async with driving(claude.start(), events) as driven:
        failed = await driven.ask("error: 529 too busy")
        after = await driven.ask("say: alive")

    retry = next(each for each in driven.of(Noticed) if each.event == "api-retry")
    assert retry.detail.startswith("API error: overloaded (529). Retry 1 of 1")
    assert failed.how == "failed"
    assert failed.reason.startswith("API Error: 529 too busy")
    assert after == TurnOver("alive")


@pytest.mark.spec("A6", "G2")
async def test_a_killed_program_fails_its_turn_and_the_session(
    claude: ClaudeHome, events: Path
) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt("say: a;; hang:")
        await driven.until(PromptTaken)
        assert driven.session.driver
        assert driven.session.driver.pid
        os.kill(driven.session.driver.pid, signal.SIGKILL)
        ended = await driven.ended()

    assert ended == Ended("failed", "Claude Code was killed by SIGKILL.")
    assert [each.how for each in driven.of(TurnOver)] == ["failed"]


@pytest.mark.spec("G6")
async def test_costs_are_not_added_twice_by_a_resume_or_a_fork(
    claude: ClaudeHome, events: Path
) -> None:
    native_id = NativeId(str(claude.spec().native_id))
    costs, totals = [], []
    for more in (
        {"native_id": native_id},
        {"native_id": native_id, "resumes": True},
        {"forks": native_id},
    ):
        async with driving(claude.start(claude.spec(**more)), events) as driven:
            await driven.ask("usage: in=1000 out=1000;; say: a")
            costs.append(cost_of(driven))
            totals.append(driven.of(Used)[-1].total_cost)

    assert costs == [costs[0]] * 3
    assert totals == [costs[0], costs[0] * 2, costs[0] * 3]


@pytest.mark.spec("A10")
async def test_a_resumed_and_a_forked_conversation_know_what_was_said(
    claude: ClaudeHome, events: Path
) -> None:
    native_id = claude.spec().native_id
    async with driving(claude.start(claude.spec(native_id=native_id)), events) as driven:
        await driven.ask("say: BANANA")
    resumed = claude.start(claude.spec(native_id=native_id, resumes=True))
    async with driving(resumed, events) as driven:
        again = await driven.ask("saw: BANANA")
    forked = claude.start(claude.spec(forks=native_id))
    async with driving(forked, events) as driven:
        branch = await driven.ask("saw: BANANA")

    assert (again.text, branch.text) == ("saw BANANA: yes", "saw BANANA: yes")
    assert driven.events[0] == Up(forked.options["native_id"])


@pytest.mark.spec("A10")
async def test_an_unknown_conversation_is_named(claude: ClaudeHome, events: Path) -> None:
    spec = claude.spec(resumes=True)
    async with driving(claude.start(spec), events) as driven:
        ended = await driven.ended()

    assert ended.outcome == "failed"
    assert f"No conversation found with session ID: {spec.native_id}" in ended.reason


async def test_a_turn_goes_on_until_its_background_subagents_have_reported(
    claude: ClaudeHome, events: Path
) -> None:
    work = {
        "description": "look",
        "prompt": f"bash: until [ -e {claude.folder}/go ]; do sleep 0.1; done;; say: seen",
        "subagent_type": "general-purpose",
        "run_in_background": True,
    }
    async with driving(claude.start(), events) as driven:
        await driven.prompt(f"tool: Agent {json.dumps(work)};; say: started it")
        await driven.until(Used)
        before = driven.of(TurnOver)
        (claude.folder / "go").touch()
        turn = await driven.until(TurnOver)

    assert before == []
    assert turn.text.startswith("ok: task notification")
    assert len(driven.of(TurnOver)) == len(driven.of(PromptTaken)) == 1
    assert [bool(each.subagent) for each in driven.of(ToolBegan)] == [False, True]


async def test_a_background_command_leaves_the_turn_and_later_begins_one(
    claude: ClaudeHome, events: Path
) -> None:
    command = f"until [ -e {claude.folder}/go ]; do sleep 0.1; done"
    work = {"command": command, "description": "waits", "run_in_background": True}
    async with driving(claude.start(), events) as driven:
        first = await driven.ask(f"tool: Bash {json.dumps(work)};; say: left it")
        (claude.folder / "go").touch()
        await driven.until(TurnOver, number=2)

    assert first == TurnOver("left it")
    assert (
        driven.of(PromptTaken)[1].text == 'Background command "waits" completed (exit code 0)'
    )


@pytest.mark.spec("G3")
async def test_an_end_interrupts_the_turn(claude: ClaudeHome, events: Path) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.prompt("say: a;; hang:")
        await driven.until(PromptTaken)
        await driven.session.close()
        ended = await driven.ended()

    assert [each.how for each in driven.of(TurnOver)] == ["interrupted"]
    assert ended == Ended("completed", "it was closed")


async def test_an_end_does_not_wait_for_commands_in_the_background(
    claude: ClaudeHome, events: Path
) -> None:
    pid = claude.folder / "pid"
    command = f"echo $$ > {pid}; until [ -e never ]; do sleep 0.1; done"
    work = {"command": command, "description": "waits", "run_in_background": True}
    spec = claude.spec(allowed_tools=("Bash",))
    async with driving(claude.start(spec), events) as driven:
        await driven.ask(f"tool: Bash {json.dumps(work)};; say: left it")
        await asyncio.to_thread(eventually, lambda: _number_in(pid))
        await driven.session.close()
        ended = await driven.ended()
        await asyncio.to_thread(eventually, lambda: not psutil.pid_exists(_number_in(pid)))

    assert ended == Ended("completed", "it was closed")


async def test_commands_of_the_program_are_turns(claude: ClaudeHome, events: Path) -> None:
    async with driving(claude.start(), events) as driven:
        await driven.ask("say: BANANA")
        compacted = await driven.ask("/compact")
        cleared = await driven.ask("/clear")
        after = await driven.ask("saw: BANANA")

    assert (compacted.text, cleared.text) == ("The conversation was compacted.", "")
    assert after.text == "saw BANANA: no"
    assert Noticed("compacted") in driven.events
    assert cost_of(driven) > 0


async def test_changed_files_are_reported_as_differences(
    claude: ClaudeHome, events: Path
) -> None:
    path = claude.project / "new.txt"
    change = {"file_path": str(path), "old_string": "one", "new_string": "two"}
    spec = claude.spec(permission_mode="acceptEdits")
    async with driving(claude.start(spec), events) as driven:
        await driven.ask(f"write: {path} one;; tool: Edit {json.dumps(change)};; say: done")

    made, changed = driven.of(FileChanged)
    assert (made.path, "+one" in made.diff) == (str(path), True)
    assert ("-one" in changed.diff, "+two" in changed.diff) == (True, True)


@pytest.mark.spec("D1")
async def test_rookerys_hooks_decide_before_the_agent_asks_and_nobody_is_asked_twice(
    claude: ClaudeHome, events: Path
) -> None:
    log = claude.folder / "hooks"
    hook = f"{sys.executable} {claude.write_hook(HOOK)} {log}"
    async with driving(claude.start(claude.spec(hook=hook)), events) as driven:
        await driven.prompt("bash: touch forbidden;; result:;; bash: touch asked;; say: end")
        asked = await driven.asked()
        driven.answer(asked, True)
        await driven.until(TurnOver)

    told = log.read_text().split()
    assert [each.input["command"] for each in driven.of(Asked)] == ["touch asked"]
    assert "by the rules" in driven.of(ToolEnded)[0].result
    assert told.count("PreToolUse") == 2
    assert "PermissionRequest" not in told


HOOK = """
import json, sys
told = json.load(sys.stdin)
event = told["hook_event_name"]
with open(sys.argv[1], "a") as log:
    log.write(event + "\\n")
if event == "PreToolUse" and "forbidden" in str(told["tool_input"]):
    why = {"permissionDecision": "deny", "permissionDecisionReason": "denied by the rules"}
    print(json.dumps({"hookSpecificOutput": {"hookEventName": event, **why}}))
"""


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_what_a_project_defines_runs_only_in_a_trusted_folder(
    claude: ClaudeHome, events: Path, is_trusted: bool
) -> None:
    if not is_trusted:
        claude.distrust()
    marks = claude.define_in_project()
    log = claude.folder / "hooks"
    hook = f"{sys.executable} {claude.write_hook(HOOK)} {log}"
    async with driving(claude.start(claude.spec(hook=hook)), events) as driven:
        await driven.prompt("bash: touch forbidden;; result:")
        turn = await driven.until(TurnOver)

    assert {each.exists() for each in marks} == {is_trusted}
    assert "denied by the rules" in turn.text
    noted = [each.event for each in driven.of(Noticed)]
    assert ("untrusted-folder" in noted) is not is_trusted


@pytest.mark.spec("G1")
async def test_the_system_prompt_is_added_and_only_the_launchs_environment_is_given(
    claude: ClaudeHome, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_HOST", "leaked")
    claude.environment["OF_THE_LAUNCH"] = "given"
    spec = claude.spec(system_prompt="-- Mind the KUMQUAT.", allowed_tools=("Bash",))
    async with driving(claude.start(spec), events) as driven:
        saw = await driven.ask("saw: Mind the KUMQUAT")
        said = await driven.ask('bash: echo "[$OF_THE_HOST $OF_THE_LAUNCH $PWD]";; result:')

    assert saw.text.endswith("yes")
    assert said.text == f"[ given {claude.project}]"
