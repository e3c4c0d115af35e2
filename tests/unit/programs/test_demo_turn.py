"""The demo agent's turns, with hooks that answer at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rookery.programs.demo import options
from rookery.programs.demo.dialog import ChoiceDialog
from rookery.programs.demo.hooks import NO_DECISION, Decision, HookCall, Hooks, Ruling
from rookery.programs.demo.session import CRASH, DemoSession, ExitStatus, Pause
from rookery.programs.demo.turn import MAX_CONTINUATIONS, ScriptedTurn, submit


class InstantHooks(Hooks):
    """Hooks that decide without a process, and keep the payloads."""

    def __init__(self) -> None:
        super().__init__({}, lambda: 0.0)
        self.payloads: list[dict[str, Any]] = []
        self.decisions: Mapping[str, Iterable[Decision]] = {}  #: by event

    def run(self, event: str, payload: bytes, *, concurrent: bool = False) -> HookCall:
        self.payloads.append(json.loads(payload))
        return HookCall(next(iter(self.decisions.get(event, ())), NO_DECISION))


class Stage:
    """A session whose turns are played to their end."""

    def __init__(self, home: Path, mode: str = "default") -> None:
        self.hooks = InstantHooks()
        self.home = home
        asked = options.read(["--permission-mode", mode])
        self.session = DemoSession(replace(asked, home=home), self.hooks, lambda: 0.0)
        self.dialogs: list[ChoiceDialog] = []
        self.pauses: list[tuple[str, float]] = []  #: what is spoken by then, and seconds

    def play(self, text: str, answer: Decision = NO_DECISION) -> None:
        """Play a turn; each dialog gets the same answer."""
        steps = ScriptedTurn(self.session, submit(self.session, text, text)).run()
        wait = next(steps)
        try:
            while True:
                match wait:
                    case ChoiceDialog():
                        self.dialogs.append(wait)
                        wait = steps.send(answer)
                    case Pause(until):
                        if until:
                            self.pauses.append((self.session.partial, until))
                        wait = steps.send(NO_DECISION)
                    case HookCall(decision):
                        assert decision is not None
                        wait = steps.send(decision)
        except StopIteration:
            return

    @property
    def printed(self) -> list[str]:
        """The blocks below the prompt of the first turn."""
        return [block.kind.value + block.text for block in self.session.unprinted[1:]]

    @property
    def events(self) -> list[str]:
        """The events told after that of the first prompt."""
        return [payload["hook_event_name"] for payload in self.hooks.payloads[1:]]

    @property
    def recorded(self) -> list[tuple[str, str]]:
        lines = (self.home / f"{self.session.id}.jsonl").read_text().splitlines()
        return [(line["type"], line["text"]) for line in map(json.loads, lines)]

    def fields(self, event: str) -> dict[str, Any]:
        """Return the payload of an event without the fields that all events have."""
        common = {"session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id"}
        [payload] = [each for each in self.hooks.payloads if each["hook_event_name"] == event]
        return {key: value for key, value in payload.items() if key not in common}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_turn_prints_its_prompt_speaks_and_stops(stage: Stage) -> None:
    stage.play("say: hello")

    assert stage.session.unprinted[0].text == "say: hello"
    assert stage.printed == ["● hello"]
    assert stage.recorded == [("user", "say: hello"), ("assistant", "hello")]
    assert stage.events == ["Stop"]
    assert stage.fields("Stop") == {
        "permission_mode": "default",
        "stop_hook_active": False,
        "last_assistant_message": "hello",
        "background_tasks": [],
    }


def test_all_hooks_of_a_turn_name_its_prompt(stage: Stage) -> None:
    stage.play("permission: Bash ls;;say: hello", Decision(Ruling.ALLOW))

    assert len(stage.hooks.payloads) == 5
    assert len({payload["prompt_id"] for payload in stage.hooks.payloads}) == 1


def test_a_prompt_that_its_hook_blocks_is_dropped(stage: Stage) -> None:
    stage.hooks.decisions = {"UserPromptSubmit": [Decision(Ruling.BLOCK, "not now")]}

    stage.play("say: x")

    assert stage.printed == ["  ⎿ Blocked: not now"]
    assert stage.events == []


def test_a_tool_is_told_before_and_after(stage: Stage) -> None:
    stage.play("tool: Read a.txt")

    assert stage.printed == ["● Read(a.txt)", "  ⎿ ok"]
    assert stage.events == ["PreToolUse", "PostToolUse", "Stop"]
    assert stage.fields("PostToolUse") == {
        **stage.fields("PreToolUse"),
        "tool_response": {"stdout": "ok"},
    }


def test_a_permission_is_asked_without_the_id_of_the_call(stage: Stage) -> None:
    stage.play("permission: Bash ls", Decision(Ruling.ALLOW))

    assert stage.fields("PermissionRequest") == {
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    assert "tool_use_id" in stage.fields("PreToolUse")
    assert stage.printed == ["● Bash(ls)", "  ⎿ ok"]


def test_a_refusal_ends_the_turn(stage: Stage) -> None:
    stage.play("permission: Bash ls\nsay: after", Decision(Ruling.REFUSE))

    assert stage.printed == ["● Bash(ls)", "  ⎿ Refused"]
    assert stage.events == ["PreToolUse", "PermissionRequest", "Interrupt"]
    assert stage.fields("Interrupt")["reason"] == "refused"
    assert stage.recorded[-1] == ("interrupted", "")


def test_a_denial_by_a_hook_leaves_the_turn_going(stage: Stage) -> None:
    stage.play("permission: Bash ls\nsay: after", Decision(Ruling.DENY, "no"))

    assert stage.printed == ["● Bash(ls)", "  ⎿ Denied: no", "● after"]
    assert stage.events == ["PreToolUse", "PermissionRequest", "Stop"]


@pytest.mark.parametrize("mode", ["bypass", "bypassPermissions"])
def test_nothing_is_asked_in_bypass_mode(tmp_path: Path, mode: str) -> None:
    stage = Stage(tmp_path, mode)

    stage.play("permission: Bash ls")

    assert stage.dialogs == []
    assert stage.printed == ["● Bash(ls)", "  ⎿ ok"]


def test_a_tool_allowed_for_the_session_does_not_ask_again(stage: Stage) -> None:
    always = Decision(Ruling.ALWAYS)

    stage.play("permission: Bash ls", always)
    stage.play("permission: Bash rm\npermission: Write x", always)

    assert [dialog.title for dialog in stage.dialogs] == ["Bash", "Write"]


@pytest.mark.parametrize(
    ("text", "ruling", "asks", "result"),
    [
        ("permission: Bash ls", Ruling.ALLOW, 0, "  ⎿ ok"),
        ("permission: Bash ls", Ruling.DENY, 0, "  ⎿ Denied: why"),
        ("tool: Bash ls", Ruling.DENY, 0, "  ⎿ Denied: why"),
        ("tool: Bash ls", Ruling.ASK, 1, "  ⎿ ok"),
    ],
)
def test_a_hook_decides_before_a_tool_is_used(
    stage: Stage, text: str, ruling: Ruling, asks: int, result: str
) -> None:
    stage.hooks.decisions = {"PreToolUse": [Decision(ruling, "why")]}

    stage.play(text)

    assert len(stage.dialogs) == asks
    assert stage.printed == ["● Bash(ls)", result]


def test_the_answer_to_a_question_is_said(stage: Stage) -> None:
    stage.play("question: Which? | Red | Blue", Decision(Ruling.ALLOW, "Blue"))

    assert stage.printed == ["● AskUserQuestion(Which?)", "  ⎿ Blue", "● You chose Blue"]
    assert stage.events == ["PreToolUse", "PermissionRequest", "PostToolUse", "Stop"]
    assert stage.fields("PostToolUse")["tool_response"] == {"answers": {"Which?": "Blue"}}


def test_a_question_is_asked_in_bypass_mode_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "bypass")

    stage.play("question: Which? | Red", Decision(Ruling.ALLOW, "Red"))

    assert len(stage.dialogs) == 1


def test_a_failure_ends_the_turn_instead_of_a_stop(stage: Stage) -> None:
    stage.play("say: well\nfail: no money\nsay: after")

    assert stage.printed == ["● well", "  ⎿ Error: no money"]
    assert stage.events == ["StopFailure"]
    assert stage.fields("StopFailure") == {
        "permission_mode": "default",
        "error": "no money",
        "last_assistant_message": "well",
    }


@pytest.mark.parametrize(("text", "status"), [("exit: 7", ExitStatus(7)), ("crash:", CRASH)])
def test_a_turn_can_end_the_program(stage: Stage, text: str, status: ExitStatus) -> None:
    stage.play(f"{text}\nsay: after")

    assert stage.session.exit == status
    assert stage.printed == []
    assert stage.events == []


def test_slow_words_grow_one_by_one(stage: Stage) -> None:
    stage.play("slow: 4\nsay: one  two")

    assert stage.pauses == [("one", 0.25), ("one  two", 0.25)]
    assert stage.printed == ["● one  two"]


def test_a_sleep_is_waited_for(stage: Stage) -> None:
    stage.play("sleep: 1.5")

    assert stage.pauses == [("", 1.5)]


def test_a_stop_hook_makes_the_turn_go_on(stage: Stage) -> None:
    stage.hooks.decisions = {"Stop": iter([Decision(Ruling.BLOCK, "say: more")])}

    stage.play("say: first")

    stops = [each for each in stage.hooks.payloads if each["hook_event_name"] == "Stop"]
    assert stage.printed == ["● first", "● more"]
    assert [stop["stop_hook_active"] for stop in stops] == [False, True]


def test_a_turn_does_not_go_on_for_ever(stage: Stage) -> None:
    stage.hooks.decisions = {"Stop": [Decision(Ruling.BLOCK, "say: more")]}

    stage.play("say: x")

    assert len(stage.printed) == 1 + MAX_CONTINUATIONS
