"""The driver of Codex's app-server, on the real Codex."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.codex.agent import CODEX
from rookery.drivers.events import (
    Asked,
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
from rookery.ports.agent import DriverLine, LaunchSpec
from tests.support.driven_programs import DrivenProgram, begun, driven
from tests.support.paths import PROGRAMS
from tests.support.real.agents import seed_codex
from tests.support.real.hostile_repository import Trap
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.anyio, pytest.mark.real]

#: A command that Codex may run only with a permission.
ESCALATED = (
    'tool: exec_command {"cmd": "touch outside.txt",'
    ' "sandbox_permissions": "require_escalated", "justification": "It is needed."}'
)


#: How often Codex tries a request again; its own numbers take a minute.
RETRIES = "request_max_retries = 1\nstream_max_retries = 1\n"


class Codex:
    """A home of Codex, a project, and the ways to start it."""

    def __init__(self, folder: Path, models: ModelServer) -> None:
        self.folder, self.project, self.models = folder, folder / "project", models
        self.project.mkdir()
        seed_codex(folder / "codex", self.project, models.url)
        config = folder / "codex" / "config.toml"
        config.write_text(config.read_text().replace("env_key =", f"{RETRIES}env_key ="))
        self.spec = LaunchSpec(
            command=(str(PROGRAMS / "codex"),),
            native_id=NativeId(""),
            model="",
            permission_mode="",
            hook="true",
            folder=folder,
        )

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CODEX_HOME": str(self.folder / "codex"),
            "FAKE_KEY": "x",
        }

    def line(self, **changes: object) -> DriverLine:
        return CODEX.driven["codex"](replace(self.spec, **changes))  # type: ignore[arg-type]

    def driven(self, **changes: object) -> AbstractAsyncContextManager[DrivenProgram]:
        return driven(self.line(**changes), self.folder, self.project, self.environment)

    def begun(self, **changes: object) -> AbstractAsyncContextManager[DrivenProgram]:
        return begun(self.line(**changes), self.folder, self.project, self.environment)


@pytest.fixture
def codex(tmp_path: Path, models: ModelServer) -> Codex:
    return Codex(tmp_path, models)


def spoken(program: DrivenProgram) -> list[str]:
    return [each.text for each in program.of(TextAdded)]


async def test_a_turn_reports_its_prompt_its_tool_calls_and_its_answer(codex: Codex) -> None:
    async with codex.driven() as program:
        (up,) = program.of(Up)
        over = await program.turn("say: First.;; bash: echo 'a \"b\"' | cat;; say: Done.")

        assert up.native_id
        assert up.model == "gpt-5.5"
        assert up.transcript_path.endswith(f"{up.native_id}.jsonl")
        assert program.of(PromptTaken) == [
            PromptTaken("say: First.;; bash: echo 'a \"b\"' | cat;; say: Done.")
        ]
        (began,) = program.of(ToolBegan)
        assert (began.tool, began.input) == ("Bash", {"command": "echo 'a \"b\"' | cat"})
        (ended,) = program.of(ToolEnded)
        assert (ended.call_id, ended.result, ended.failed) == (began.call_id, 'a "b"\n', False)
        assert spoken(program) == ["First.", "Done."]
        assert over == TurnOver("Done.")
        assert len(program.of(Used)) == 2
        assert all(each.input_tokens > 0 and each.cost is None for each in program.of(Used))


async def test_an_allowed_call_runs(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt(f"{ESCALATED};; say: Made.")
        asked = await program.asked()
        assert (asked.tool, asked.input) == (
            "Bash",
            {"command": "touch outside.txt", "description": "It is needed."},
        )
        program.answer(asked, allow=True)
        over = await program.until(TurnOver)

        assert over.text == "Made."
        assert (codex.project / "outside.txt").exists()
        assert [each.request for each in program.of(AskingEnded)] == [asked.request]


async def test_a_refused_call_does_not_run_and_its_reason_reaches_the_model(
    codex: Codex,
) -> None:
    async with codex.driven() as program:
        await program.prompt(f"{ESCALATED};; say: Not reached.")
        asked = await program.asked()
        program.answer(asked, allow=False, message="Not on Mondays.")
        over = await program.until(TurnOver)

        assert "The user refused the call: Not on Mondays." in over.text  # the model repeats it
        assert not (codex.project / "outside.txt").exists()
        (ended,) = program.of(ToolEnded)
        assert ended.failed
        assert len(program.of(PromptTaken)) == 1


async def test_a_patch_is_asked_about_as_the_hooks_name_it(codex: Codex) -> None:
    patch = "*** Begin Patch\\n*** Add File: new.txt\\n+one\\n*** End Patch"
    async with codex.driven(permission_mode="default") as program:
        await program.prompt(f'tool: apply_patch {{"input": "{patch}"}};; say: Patched.')
        asked = await program.asked()
        program.answer(asked, allow=True)
        over = await program.until(TurnOver)

        new = codex.project / "new.txt"
        assert asked.tool == "apply_patch"
        assert f"*** Add File: {new}\n+one\n" in asked.input["command"]
        assert over.text == "Patched."
        assert new.read_text() == "one\n"
        assert program.of(FileChanged) == [
            FileChanged(
                str(new), f"--- /dev/null\n+++ {new}\n@@ -0,0 +1,1 @@\n+one\n", asked.call_id
            )
        ]


async def test_a_turn_is_interrupted_while_its_model_answers(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt("say: Begun.;; gate: never;; say: Not reached.")
        await program.until(TextAdded)
        await program.session.interrupt()
        over = await program.until(TurnOver)
        again = await program.turn("say: And on.")

        assert over.how == "interrupted"
        assert again == TurnOver("And on.")


async def test_an_interrupted_turn_no_longer_asks(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt(f"{ESCALATED};; say: Not reached.")
        asked = await program.asked()
        await program.session.interrupt()
        await program.until(TurnOver)

        assert AskingEnded(asked.request) in program.events
        assert not (codex.project / "outside.txt").exists()


async def test_a_prompt_during_a_turn_steers_it(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt("bash: while [ ! -e go ]; do sleep 0.05; done;; say: Unsteered.")
        await program.until(ToolBegan)
        await program.prompt("say: Steered.")
        (codex.project / "go").touch()
        over = await program.until(TurnOver)

        assert over.text == "Steered."
        assert program.of(PromptTaken)[1:] == [PromptTaken("say: Steered.", is_steering=True)]


async def test_a_resumed_thread_remembers_and_a_fork_is_another_thread(codex: Codex) -> None:
    async with codex.driven() as first:
        await first.turn("say: Remember-me-13")
        native_id = first.of(Up)[0].native_id
    async with codex.driven(native_id=native_id, resumes=True) as resumed:
        over = await resumed.turn("saw: Remember-me-13")
        assert resumed.of(Up)[0].native_id == native_id
        assert "yes" in over.text.lower()
        tokens = resumed.of(Used)
    async with codex.driven(forks=native_id) as fork:
        over = await fork.turn("saw: Remember-me-13")
        assert fork.of(Up)[0].native_id not in {"", native_id}
        assert "yes" in over.text.lower()

    # What the thread used before it was resumed is not counted again.
    assert len(tokens) == 1


async def test_an_unknown_thread_cannot_be_resumed(codex: Codex) -> None:
    unknown = "01a1de29-86e2-7101-bbe8-74784c39ec4b"
    async with codex.begun(native_id=unknown, resumes=True) as program:
        ended = await program.until(Ended)

        assert ended.outcome == "failed"
        assert unknown in ended.reason


async def test_an_error_of_the_api_fails_the_turn_with_its_text(codex: Codex) -> None:
    async with codex.driven() as program:
        over = await program.turn("error: 500 boom")
        again = await program.turn("say: Better.")

        assert (over.how, over.fails_session) == ("failed", False)
        assert "high demand" in over.reason
        assert "internalServerError" in over.reason
        assert program.of(Noticed)
        assert again == TurnOver("Better.")


async def test_a_killed_app_server_ends_the_turn_and_the_session(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt("say: Begun.;; gate: never;; say: Not reached.")
        await program.until(TextAdded)
        driver = program.session.driver
        assert driver
        assert driver.pid
        os.kill(driver.pid, signal.SIGKILL)
        ended = await program.until(Ended)

        (over,) = program.of(TurnOver)
        assert (over.how, over.fails_session) == ("failed", True)
        assert ended.outcome == "failed"
        assert "SIGKILL" in ended.reason


async def test_a_missing_program_is_named(codex: Codex) -> None:
    codex.spec = replace(codex.spec, command=("/nowhere/codex",))
    async with codex.begun() as program:
        ended = await program.until(Ended)

        assert ended.outcome == "failed"
        assert "/nowhere/codex" in ended.reason


async def test_a_question_is_answered_through_the_protocol(codex: Codex) -> None:
    enabled = (str(PROGRAMS / "codex"), "--enable", "default_mode_request_user_input")
    codex.spec = replace(codex.spec, command=enabled)
    question = (
        '{"questions": [{"id": "c", "header": "Colour", "question": "Which colour?", "options":'
        ' [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}'
    )
    async with codex.driven() as program:
        await program.prompt(f"tool: request_user_input {question};; result:")
        asked = await program.until(Asked)
        program.answer(asked, allow=True, answers={"Which colour?": ("Blue",)})
        over = await program.until(TurnOver)

        assert asked.tool == "request_user_input"
        assert asked.input["questions"][0]["question"] == "Which colour?"
        assert "Blue" in over.text


async def test_closing_in_mid_turn_ends_the_program(codex: Codex) -> None:
    async with codex.driven() as program:
        await program.prompt("say: Begun.;; gate: never;; say: Not reached.")
        await program.until(TextAdded)
        await program.session.close()
        ended = await program.until(Ended)

        (over,) = program.of(TurnOver)
        assert over.how == "interrupted"
        assert ended.outcome == "completed"


@pytest.mark.spec("A3")
@pytest.mark.parametrize("mode", ["", "default", "danger-full-access"])
async def test_nothing_of_a_repository_runs_before_the_user_trusts_it(
    codex: Codex, mode: str
) -> None:
    settings = codex.folder / "codex" / "config.toml"
    trusted = settings.read_text()
    settings.write_text(trusted.replace(str(codex.project), "/elsewhere"))
    trap = Trap(codex.project, codex.folder / "marks", codex.models)
    trap.lay()
    async with codex.driven(permission_mode=mode) as program:
        await program.turn("say: Done.")

    assert trap.marks_left() == []
    # Codex accepts a folder by itself if it is told to work there with more rights.
    assert str(codex.project) not in settings.read_text()
    settings.write_text(trusted)
    async with codex.driven(permission_mode=mode) as program:
        await program.turn("say: Done.")
    assert trap.marks_left()  # else it was no trap
