"""The driver of OpenCode's server, on the real OpenCode."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.opencode.agent import OPENCODE
from rookery.drivers.events import (
    AskingEnded,
    Ended,
    FileChanged,
    Noticed,
    PromptTaken,
    TextAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Up,
    Used,
)
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.driven_programs import DrivenProgram, begun, driven
from tests.support.paths import MORE_PROGRAMS, ROOT
from tests.support.real.more_agents import seed_opencode
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real, pytest.mark.more_agents]

#: A server of tools that needs a second to be ready.
_SLOW_TOOLS = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
time.sleep(1)
from tests.support.real.asking_server import main
main()
"""


class OpenCode:
    """A home of OpenCode, a project, and the ways to start it."""

    def __init__(self, folder: Path, models: ModelServer) -> None:
        self.folder, self.project, self.home = folder, folder / "project", folder / "opencode"
        self.project.mkdir()
        seed_opencode(self.home, models.url)
        self.spec = LaunchSpec(
            command=(str(MORE_PROGRAMS / "opencode"),),
            native_id=NativeId(""),
            model="fake/fake-model",
            permission_mode="default",
            hook="true",
            folder=folder,
        )

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            **{
                f"XDG_{name.upper()}_HOME": str(self.home / name)
                for name in ("config", "data", "state", "cache")
            },
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def driven(self, **changes: object) -> AbstractAsyncContextManager[DrivenProgram]:
        return driven(*self._started(changes))

    def begun(self, **changes: object) -> AbstractAsyncContextManager[DrivenProgram]:
        return begun(*self._started(changes))

    def _started(self, changes: Mapping[str, object]):  # type: ignore[no-untyped-def]  # noqa: ANN202
        spec = replace(self.spec, **changes)  # type: ignore[arg-type]
        line = OPENCODE.driven["opencode"](spec)
        return line, self.folder, self.project, self.environment


@pytest.fixture
def opencode(tmp_path: Path, models: ModelServer) -> OpenCode:
    return OpenCode(tmp_path, models)


async def test_turns_report_prompts_tool_calls_costs_and_answers(opencode: OpenCode) -> None:
    async with opencode.driven() as program:
        prompt = "say: First.;; bash: echo hi;; say: Done."
        await program.prompt(prompt)
        asked = await program.asked()
        program.answer(asked, allow=True)
        over = await program.until(TurnOver)

        assert asked.tool == "bash"
        assert asked.input["command"] == "echo hi"
        assert program.of(Up)[0].native_id.startswith("ses_")
        assert program.of(PromptTaken) == [PromptTaken(prompt)]
        (began,) = program.of(ToolBegan)
        (ended,) = program.of(ToolEnded)
        assert (began.tool, ended.result, ended.failed) == ("bash", "hi\n", False)
        assert over == TurnOver("Done.")
        assert [each.cost is not None for each in program.of(Used)] == [True, True]

        again = await program.turn("say: Twice.")
        assert again == TurnOver("Twice.")
        assert len(program.of(PromptTaken)) == 2


async def test_a_refused_call_does_not_run_and_its_reason_reaches_the_model(
    opencode: OpenCode,
) -> None:
    async with opencode.driven() as program:
        await program.prompt("write: new.txt hello;; result:")
        asked = await program.asked()
        program.answer(asked, allow=False, message="Not on Mondays.")
        over = await program.until(TurnOver)

        assert (asked.tool, asked.input["filePath"]) == ("write", "new.txt")
        assert not (opencode.project / "new.txt").exists()
        assert "Not on Mondays." in over.text
        assert program.of(ToolEnded)[0].failed

        await program.prompt("write: new.txt hello;; say: Written.")
        seen = len(program.events)
        program.answer(await program.asked(after=seen), allow=True)
        await program.until(TurnOver, after=seen)
        (changed,) = program.of(FileChanged)
        assert "+hello" in changed.diff


async def test_a_question_is_answered(opencode: OpenCode) -> None:
    question = (
        '{"questions": [{"question": "Which colour?", "header": "Colour", "options":'
        ' [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}'
    )
    async with opencode.driven() as program:
        await program.prompt(f"tool: question {question};; result:")
        asked = await program.asked()
        program.answer(asked, allow=True, answers={"Which colour?": ("Blue",)})
        over = await program.until(TurnOver)

        assert asked.tool == "question"
        assert "Blue" in over.text


async def test_a_turn_is_interrupted_and_asks_no_longer(opencode: OpenCode) -> None:
    async with opencode.driven() as program:
        await program.prompt("bash: touch outside.txt;; say: Not reached.")
        asked = await program.asked()
        await program.session.interrupt()
        over = await program.until(TurnOver)

        assert over.how == "interrupted"
        assert AskingEnded(asked.request) in program.events
        assert not (opencode.project / "outside.txt").exists()
        assert await program.turn("say: And on.") == TurnOver("And on.")


@pytest.mark.parametrize("moment", ["is sent", "is taken"])
async def test_a_turn_that_is_interrupted_at_its_begin_ends_and_no_later_one_does(
    opencode: OpenCode, moment: str
) -> None:
    # The first turn waits until the servers of tools are connected.
    tools = (sys.executable, "-c", _SLOW_TOOLS)
    async with opencode.driven(tools=tools) as program:
        await program.prompt("say: Not reached.")
        if moment == "is taken":
            await program.until(PromptTaken)
        await program.session.interrupt()

        assert (await program.until(TurnOver)).how == "interrupted"
        assert await program.turn("say: And on.") == TurnOver("And on.")
        assert await program.turn("say: Again.") == TurnOver("Again.")


async def test_a_prompt_during_a_turn_is_taken_into_it(opencode: OpenCode) -> None:
    async with opencode.driven(permission_mode="") as program:
        await program.prompt("bash: while [ ! -e go ]; do sleep 0.05; done;; say: Unsteered.")
        asked = await program.asked()  # the user's settings ask about commands
        program.answer(asked, allow=True)
        await program.until(ToolBegan)
        await program.prompt("say: Steered.")
        await program.until(PromptTaken, lambda each: each.is_steering)
        (opencode.project / "go").touch()
        over = await program.until(TurnOver)

        assert over.text == "Steered."
        assert len(program.of(TurnOver)) == 1


async def test_a_resumed_conversation_remembers_and_a_fork_is_another(
    opencode: OpenCode,
) -> None:
    async with opencode.driven() as first:
        await first.turn("say: Remember-me-13")
        native_id = first.of(Up)[0].native_id
    async with opencode.driven(native_id=native_id, resumes=True) as resumed:
        over = await resumed.turn("saw: Remember-me-13")
        assert resumed.of(Up)[0].native_id == native_id
        assert "yes" in over.text
    async with opencode.driven(forks=native_id) as fork:
        over = await fork.turn("saw: Remember-me-13")
        assert fork.of(Up)[0].native_id != native_id
        assert "yes" in over.text


async def test_an_unknown_conversation_cannot_be_resumed(opencode: OpenCode) -> None:
    unknown = "ses_e1211c73bffeTLoGJjcFLqP742"
    async with opencode.begun(native_id=unknown, resumes=True) as program:
        ended = await program.until(Ended)

        assert ended.outcome == "failed"
        assert unknown in ended.reason


async def test_an_error_fails_the_turn_with_its_text_and_a_retry_is_noted(
    opencode: OpenCode,
) -> None:
    async with opencode.driven(model="fake/no-such-model") as program:
        over = await program.turn("say: Not reached.")

        assert (over.how, over.fails_session) == ("failed", False)
        assert "no-such-model" in over.reason

    async with opencode.driven() as program:
        assert await program.turn("error: 500 x1 boom;; say: Done.") == TurnOver("Done.")
        assert program.of(Noticed) == [Noticed("retry", "boom")]


async def test_a_killed_server_ends_the_turn_and_the_session(opencode: OpenCode) -> None:
    async with opencode.driven() as program:
        await program.prompt("say: Begun.;; bash: echo hi;; say: Not reached.")
        await program.until(TextAdded)
        assert program.session.driver
        assert program.session.driver.pid
        os.kill(program.session.driver.pid, signal.SIGKILL)
        ended = await program.until(Ended)

        (over,) = program.of(TurnOver)
        assert (over.how, over.fails_session) == ("failed", True)
        assert ended.outcome == "failed"
        assert "SIGKILL" in ended.reason
