from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.demo import DEMO, EVENTS, read_screen
from rookery.agents.shared.claude_style_hooks import (
    DECIDING,
    DECISION_TIMEOUT_S,
    HOOK_TIMEOUT_S,
)
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import Call, Question
from rookery.model.screens import Dialog, Screen, View
from rookery.model.sessions import NativeId, Sender
from rookery.ports.agent import LaunchSpec
from tests.support.dialects import hooks_of

S = SessionId("s")
RULE = "─" * 40
HOOKS = hooks_of("demo")

QUESTION = {
    "questions": [
        {
            "question": "Which one?",
            "options": [{"label": "A"}, {"label": "B"}, "odd"],
            "multiSelect": True,
        },
        {"question": "And then?"},
    ]
}


@pytest.mark.spec("C2", "C8")
@pytest.mark.parametrize(
    ("event", "fields", "told"),
    [
        ("SessionStart", {}, [facts.SessionStarted(S)]),
        (
            "SessionStart",
            {"model": "dream-1", "transcript_path": "/t"},
            [facts.SessionStarted(S, "dream-1", "/t")],
        ),
        ("SessionStart", {"model": 5}, [facts.SessionStarted(S)]),
        ("UserPromptSubmit", {"prompt": "Go."}, [facts.TurnStarted(S, "Go.")]),
        ("UserPromptSubmit", {}, [facts.Noted(S, "UserPromptSubmit")]),
        ("PreToolUse", {"tool_name": "Bash"}, [facts.ToolCalled(S, "Bash")]),
        ("PermissionRequest", {"tool_name": "Bash"}, []),
        (
            "Notification",
            {"message": "It waits."},
            [facts.Noted(S, "Notification", "It waits.")],
        ),
        ("PostToolUse", {"tool_name": "Bash"}, [facts.ToolUsed(S, "Bash")]),
        (
            "PostToolUseFailure",
            {"tool_name": "Bash", "error": "Exit code 2\nls: no such file"},
            [facts.ToolUsed(S, "Bash", failure="Exit code 2 ↵ ls: no such file")],
        ),
        (
            "PostToolUseFailure",
            {"tool_name": "Bash"},
            [facts.ToolUsed(S, "Bash", failure="failed")],
        ),
        ("Stop", {}, [facts.TurnEnded(S)]),
        ("Stop", {"last_assistant_message": "Done."}, [facts.TurnEnded(S, "Done.")]),
        ("Stop", {"background_tasks": []}, [facts.TurnEnded(S)]),
        ("Stop", {"background_tasks": ["one"]}, [facts.TurnEnded(S)]),
        ("Stop", {"background_tasks": [{"type": "shell"}]}, [facts.TurnEnded(S, commands=1)]),
        (
            "Stop",
            {"background_tasks": [{"type": "workflow"}]},
            [facts.TurnPaused(S, subagents=1)],
        ),
        ("Stop", {"background_tasks": [{"type": "new"}]}, [facts.TurnEnded(S, commands=1)]),
        (
            "Stop",
            {"background_tasks": [{"type": "subagent", "status": "completed"}]},
            [facts.TurnEnded(S)],
        ),
        (
            "Stop",
            {"background_tasks": [{"type": "subagent"}, {"type": "shell"}]},
            [facts.TurnPaused(S, subagents=1, commands=1)],
        ),
        ("StopFailure", {"error": "overloaded"}, [facts.TurnEnded(S, "overloaded", "failed")]),
        (
            "StopFailure",
            {"error": "x", "last_assistant_message": "Half."},
            [facts.TurnEnded(S, "Half.", "failed")],
        ),
        ("Interrupt", {}, [facts.TurnEnded(S, "", "interrupted")]),
        ("SessionEnd", {"reason": "clear"}, [facts.ConversationLeft(S, "clear")]),
        ("SessionEnd", {"reason": "resume"}, [facts.ConversationLeft(S, "resume")]),
        ("SessionEnd", {"reason": "exit"}, [facts.SessionEnded(S, "it ended: exit")]),
        ("SessionEnd", {}, [facts.Noted(S, "SessionEnd")]),
        ("SomethingNew", {"anything": [1]}, [facts.Noted(S, "SomethingNew")]),
    ],
)
def test_a_hook_becomes_facts(event: str, fields: dict[str, Any], told: list[Fact]) -> None:
    assert list(HOOKS.read({"hook_event_name": event, **fields}, S)) == told


@pytest.mark.spec("C8", "D5")
@pytest.mark.parametrize(
    ("event", "fields", "call"),
    [
        ("PreToolUse", {"tool_name": "Bash"}, Call("Bash", {}, is_asked=False)),
        ("PermissionRequest", {"tool_name": "Bash"}, Call("Bash", {})),
        (
            "PermissionRequest",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}},
            Call("Bash", {"command": "ls"}),
        ),
        (
            "PermissionRequest",
            {"tool_name": "AskUserQuestion", "tool_input": QUESTION},
            Call(
                "AskUserQuestion",
                QUESTION,
                (Question("Which one?", ("A", "B"), takes_several=True), Question("And then?")),
            ),
        ),
        (
            "PermissionRequest",
            {"tool_name": "AskUserQuestion", "tool_input": {}},
            Call("AskUserQuestion", {}),
        ),
        ("PermissionRequest", {}, None),
        ("PostToolUse", {"tool_name": "Bash"}, None),
    ],
)
def test_a_hook_may_want_a_call_decided(
    event: str, fields: dict[str, Any], call: Call | None
) -> None:
    assert HOOKS.read_call({"hook_event_name": event, **fields}) == call


@pytest.mark.spec("C4")
def test_a_hook_says_who_sent_it() -> None:
    payload = {"session_id": "n1", "cwd": "/repo", "hook_event_name": "Stop"}

    late = HOOKS.identify(payload)
    first = HOOKS.identify({**payload, "hook_event_name": "SessionStart"})

    assert late == Sender("demo", NativeId("n1"), "/repo", "Stop")
    assert first.is_new


@pytest.mark.spec("C1")
def test_a_demo_is_told_its_id_and_given_hooks_of_its_own() -> None:
    spec = LaunchSpec(
        ("demo",), NativeId("n1"), "dream-1", "plan", "hook 'a b' demo", Path("/s")
    )

    line = DEMO.command_line(spec)

    ((path, text),) = line.files.items()
    assert line.argv == (
        *("demo", "--session-id", "n1", "--settings", "/s/settings.json"),
        *("--model", "dream-1", "--permission-mode", "plan"),
    )
    assert path == Path("/s/settings.json")
    for event in EVENTS:
        ((entry,),) = [each["hooks"] for each in json.loads(text)["hooks"][event]]
        assert entry["command"] == "hook 'a b' demo"
        decides = event in DECIDING
        assert entry["timeout"] == (DECISION_TIMEOUT_S if decides else HOOK_TIMEOUT_S)


def test_what_was_not_asked_for_is_the_agents_own_choice() -> None:
    spec = LaunchSpec(("demo",), NativeId("n1"), "", "", "hook", Path("/s"))

    assert DEMO.command_line(spec).argv[-1] == "/s/settings.json"


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("lines", "view"),
    [
        ([], View()),
        (["Loading …", RULE], View()),
        ([RULE, "❯", RULE], View(box="")),
        ([RULE, "❯ half a thou", RULE, "hint"], View(box="half a thou")),
        ([RULE, "❯ one", "  two", RULE], View(box="one\ntwo")),
        ([RULE, "❯ a list:", "  1. one", RULE], View(box="a list:\n1. one")),
        (["old", RULE, "text", RULE, RULE, "❯ a", RULE], View(box="a")),
        (["* Thinking (esc to interrupt)", RULE, "❯", RULE], View(box="", is_working=True)),
        (["(esc to interrupt)", *"abcd", RULE, "❯", RULE], View(box="")),
        ([RULE, "not a box", RULE], View()),
        (
            [RULE, " Bash", "   rm", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", RULE],
            View(
                dialog=Dialog(
                    *("permission", "Bash rm Do you want to proceed?", ("Yes", "No"), 0),
                    subjects=("rm",),
                )
            ),
        ),
        (
            [RULE, " Question", "   Which?", "   1. This", " ❯ 2. That", RULE],
            View(
                dialog=Dialog(
                    *("question", "Question Which?", ("This", "That"), 1), subjects=("Which?",)
                )
            ),
        ),
    ],
)
def test_a_screen_shows_a_box_a_dialog_or_nothing_of_use(lines: list[str], view: View) -> None:
    screen = Screen(tuple(lines), tuple(lines))

    assert read_screen(screen) == view


@pytest.mark.spec("B2")
def test_a_box_holds_a_long_paste_as_the_demo_shows_it() -> None:
    assert DEMO.input.holds("[Pasted text #1 +30 lines]", "anything")
