from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.claude.agent import EVENTS, Claude
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import digest
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId, Sender
from rookery.ports.agent import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "claude-2.1.325"

S = SessionId("s")
NATIVE = "468710ed-3430-4f4a-a353-234216573ac7"
TRANSCRIPT = f"/home/user/.claude/projects/-work-project/{NATIVE}.jsonl"
LATER = "659699ef-b462-40e2-99a5-e8f12122bc5e"
LATER_TRANSCRIPT = f"/home/person/.claude/projects/-code-project/{LATER}.jsonl"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "agents-view": View(obstacle="its list of agents is open"),
    "answered": View(""),
    "at-list": View("read @no"),
    "bang-pasted": View("!touch made"),
    "draft": View("half a thou"),
    "failed": View(""),
    "hash-pasted": View("# remember this"),
    "history-search": View(obstacle="its history search is open"),
    "history-search-typed": View(obstacle="its history search is open"),
    "idle": View(""),
    # A prompt that is interrupted before it is answered comes back into the box.
    "interrupted": View("gate: b;; say: never"),
    "pasted-lines": View("a b c\nd e f"),
    "pasted-long": View("[Pasted text #1 +20 lines]"),
    "permitted": View(""),
    "quit-typed": View("/exit"),
    "refused": View(""),
    "slash-list": View("/mod", instead="/model"),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins. At the
#: start, nobody asks for the kind.
DIALOGS = {
    "dialog-model": ("question", "Select model"),
    "permission-bash": ("permission", "Bash command scripted touch made Do you want to"),
    "permission-edit": ("permission", "Create file foo.txt 1 hello there Do you want to"),
    "permission-fetch": ("permission", "Fetch Claude wants to fetch content"),
    "permission-lines": ("permission", "Bash command d │ echo one │ echo two"),
    "permission-read": ("permission", "Read file Read(/etc/shadow)"),
    "permission-refused": ("permission", "Bash command d"),
    "permission-refusing": ("permission", "Bash command d"),
    "plan": ("permission", "Claude has written up a plan"),
    "plan-change": ("permission", "Claude has written up a plan"),
    "plan-changed": ("permission", "Claude has written up a plan"),
    "plan-short": ("permission", "Exit plan mode?"),
    "question-free": ("question", "☐ Colour Which colour?"),
    "question-typed": ("question", "☐ Colour Which colour?"),
    "questions": ("question", "←  ☐ Colour"),
    "questions-review": ("question", "←  ☒ Colour"),
    "questions-ticked": ("question", "←  ☒ Colour"),
    "questions-ticks": ("question", "←  ☒ Colour"),
    "question": ("question", "☐ Colour Which colour?"),
    "start-api-key": ("", "Detected a custom API key in your environment"),
    "start-auto-mode": ("", "Make auto mode your default permission mode?"),
    "start-trust": ("", "Accessing workspace: /tmp/p Quick safety check"),
}


def hook(name: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads((RECORDINGS / "hooks" / f"{name}.json").read_text())
    return payload


def of_call(name: str) -> str:
    payload = hook(name)
    return digest(payload["tool_name"], payload["tool_input"])


def used(name: str, call: str, subagent: str = "") -> facts.ToolUsed:
    """Return the fact of a recorded hook, which has the call's own id."""
    payload = hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    return facts.ToolUsed(S, tool, call, subagent, call_id)


def turn_of(name: str) -> str:
    """Return the id that Claude gives the turn of a hook."""
    return str(hook(name)["prompt_id"])


def ended(name: str, words: str, how: facts.How = "finished", *, commands: int = 0) -> Fact:
    return facts.TurnEnded(S, words, how, turn_of(name), commands)


def paused(name: str, words: str, *, commands: int = 0) -> Fact:
    return facts.TurnPaused(S, words, turn_of(name), subagents=1, commands=commands)


def resumed(name: str, report: str) -> Fact:
    return facts.TurnStarted(S, report, turn_of(name), resumes=True)


#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "ConfigChange.user_settings": [facts.Noted(S, "ConfigChange", "user_settings")],
    "MessageDisplay": [facts.Noted(S, "MessageDisplay")],
    "Notification.idle_prompt": [
        facts.Noted(S, "Notification", "Claude is waiting for your input")
    ],
    "Notification.permission_prompt": [
        facts.Noted(S, "Notification", "Claude needs your permission")
    ],
    "PermissionRequest": [],
    "PermissionRequest.AskUserQuestion": [],
    "PermissionRequest.Write": [],
    "PermissionRequest.in_subagent": [],
    "PostModelSwitch": [facts.Noted(S, "PostModelSwitch", "command")],
    "PostCompact": [ended("PostCompact", "The conversation was compacted.")],
    "PostToolBatch": [facts.Noted(S, "PostToolBatch")],
    "PostToolUse": [used("PostToolUse", digest("Bash", {"command": "touch made"}))],
    "PostToolUse.Agent": [used("PostToolUse.Agent", of_call("PostToolUse.Agent"))],
    "PostToolUse.AskUserQuestion": [
        used("PostToolUse.AskUserQuestion", of_call("PostToolUse.AskUserQuestion"))
    ],
    "PostToolUse.Write": [used("PostToolUse.Write", of_call("PreToolUse.Write"))],
    "PostToolUse.in_subagent": [
        used(
            "PostToolUse.in_subagent",
            of_call("PreToolUse.in_subagent"),
            str(hook("PostToolUse.in_subagent")["agent_id"]),
        )
    ],
    "PostToolUseFailure": [used("PostToolUseFailure", digest("Bash", {"command": "false"}))],
    "PreCompact": [facts.TurnStarted(S, "/compact", turn_of("PreCompact"))],
    "PreToolUse": [facts.ToolCalled(S, "Bash")],
    "PreToolUse.Agent": [facts.ToolCalled(S, "Agent")],
    "PreToolUse.AskUserQuestion": [facts.ToolCalled(S, "AskUserQuestion")],
    "PreToolUse.Write": [facts.ToolCalled(S, "Write")],
    "PreToolUse.in_subagent": [facts.ToolCalled(S, "Bash")],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionEnd.other": [facts.SessionEnded(S, "it ended")],
    "SessionEnd.prompt_input_exit": [facts.SessionEnded(S, "it ended: prompt_input_exit")],
    "SessionStart.clear": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.compact": [facts.SessionStarted(S, "claude-sonnet-5-5", TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.startup": [facts.SessionStarted(S, "claude-opus-5-5", TRANSCRIPT)],
    "Stop": [ended("Stop", "done manual")],
    "Stop.stop_hook_active": [ended("Stop.stop_hook_active", "second answer")],
    "Stop.with_background_command": [
        ended("Stop.with_background_command", "server is started", commands=1)
    ],
    "Stop.with_background_tasks": [paused("Stop.with_background_tasks", "main after sub")],
    "Stop.with_subagent_and_command": [
        paused("Stop.with_subagent_and_command", "main has delegated", commands=1)
    ],
    "StopFailure": [ended("StopFailure", "API Error: 400 bad request thing", "failed")],
    "SubagentStart": [facts.Noted(S, "SubagentStart", "general-purpose")],
    "SubagentStop": [facts.Noted(S, "SubagentStop", "general-purpose")],
    "SubagentStop.of_compaction": [facts.Noted(S, "SubagentStop")],
    "UserPromptSubmit.command_ended": [
        resumed(
            "UserPromptSubmit.command_ended",
            'Background command "dev server" completed (exit code 0)',
        )
    ],
    "UserPromptSubmit.subagent_stopped": [
        resumed(
            "UserPromptSubmit.subagent_stopped",
            'Background agent "part" was stopped by the user.',
        )
    ],
    "UserPromptSubmit.task_notification": [
        resumed("UserPromptSubmit.task_notification", 'Agent "d" finished')
    ],
    "UserPromptSubmit": [
        facts.TurnStarted(
            S,
            "bash: touch made;; result:;; say: done manual",
            turn_of("UserPromptSubmit"),
        ),
    ],
}


def read(name: str) -> View:
    return Claude().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def order(*, model: str = "", permission_mode: str = "", resumes: bool = False) -> Order:
    native_id = NativeId("n1")
    return Order(
        ("claude",), native_id, model, permission_mode, "hook 'a b'", Path("/s"), resumes
    )


def cases(table: Mapping[str, object]) -> list[object]:
    return [pytest.param(name, expected, id=name) for name, expected in table.items()]


def test_every_recording_is_read() -> None:
    assert {file.stem for file in RECORDINGS.glob("*.txt")} == {*BOXES, *DIALOGS}
    assert {file.stem for file in RECORDINGS.glob("hooks/*.json")} == {*TOLD}


@pytest.mark.spec("B0")
def test_a_dialog_that_quotes_an_empty_box_is_a_dialog_also_without_its_footer() -> None:
    rule = "─" * 120
    recorded = (RECORDINGS / "permission-edit.txt").read_text()
    quoting = recorded.replace("hello there", f"x\n{rule}\n❯\n{rule}\n")
    shown = quoting[: quoting.rindex("Esc to cancel")]

    view = Claude().read_screen(read_styled(shown))

    assert rule in shown
    assert (view.box, view.dialog and view.dialog.kind) == (None, "permission")


@pytest.mark.spec("B0", "C8")
@pytest.mark.parametrize("typed", ["/context", "@notes"])
def test_completions_below_the_box_are_no_dialog(typed: str) -> None:
    rule = "─" * 120
    listed = f"  ❯ {typed}     What it does\n    {typed}-2   Something else"

    view = Claude().read_screen(read_styled(f"{rule}\n❯ {typed}\n{rule}\n{listed}\n"))

    assert view == View(typed)


@pytest.mark.spec("B0")
def test_words_that_look_like_an_option_are_a_draft() -> None:
    drafted = (RECORDINGS / "draft.txt").read_text().replace("half a thou", "1. Yes")

    assert Claude().read_screen(read_styled(drafted)) == View("1. Yes")


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "view"), cases(BOXES))
def test_a_screen_shows_what_is_typed_and_whether_it_works(name: str, view: View) -> None:
    assert read(name) == view


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "asked"), cases(DIALOGS))
def test_a_screen_shows_what_is_asked(name: str, asked: tuple[str, str]) -> None:
    view = read(name)

    kind, beginning = asked
    assert view.dialog
    assert view.box is None
    assert kind in {"", view.dialog.kind}
    assert view.dialog.text.startswith(beginning)


@pytest.mark.parametrize("screen", ["", "\n\n", "Loading …", "─" * 40])
def test_a_screen_that_is_not_drawn_yet_shows_nothing(screen: str) -> None:
    assert Claude().read_screen(read_styled(screen)) == View()


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("name", "told"), TOLD.items())
def test_a_hook_as_claude_sends_it_becomes_facts(name: str, told: list[Fact]) -> None:
    assert list(Claude().read_hook(hook(name), S)) == told


@pytest.mark.spec("C4")
def test_a_hook_as_claude_sends_it_says_who_sent_it() -> None:
    started = Claude().identify(hook("SessionStart.startup"))
    stopped = Claude().identify(hook("Stop"))

    who = partial(Sender, "claude", NativeId(NATIVE), "/code/project")
    assert started == who("SessionStart", TRANSCRIPT, model="claude-opus-5-5")
    assert stopped == who("Stop", TRANSCRIPT, permission_mode="default")


@pytest.mark.spec("A1")
def test_a_model_that_the_person_chose_is_told_by_its_hook() -> None:
    assert Claude().identify(hook("PostModelSwitch")).model == "claude-sonnet-5-5"


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        ("Build\nit.", "Build it.", True),
        ("[Pasted text #1 +20 lines]", "anything", True),
        ("[Pasted text #2]", "anything", True),
        ("[Pasted text #1 +20 lines] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_claude_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert Claude().holds(box, words) is holds


RULE = "─" * 60
FOOTER = "  ⏸ manual mode on"
#: More rows than stand below the box at any other time.
LISTED = [
    "    /auto-mode-setup            Teach auto mode about your environment",
    "    /code-review                Review the current diff or a PR for bugs",
    "                                and cleanups",
    "    /update-config              Change settings: hooks, permissions",
    "    /loop                       Repeat a prompt on an interval",
    "    /claude-api                 Build and debug apps",
    "    /effort                     Set effort level for model usage",
]


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("draft", "selected", "instead"),
    [
        ("/model", "  ❯ /model                      Set the AI model", ""),
        ("/cost", "  ❯ /usage (cost)               Show session cost", ""),
        ("/co", "  ❯ /copy                       Copy the last response", "/copy"),
        ("/usag", "  ❯ /usage (cost)               Show session cost", "/usage"),
        ("/modelx", "    /model                      Set the AI model", ""),
    ],
)
def test_a_list_of_commands_hides_no_box_and_tells_what_enter_would_take(
    draft: str, selected: str, instead: str
) -> None:
    box = [RULE, f"❯ {draft}", RULE]
    below = ["● ok", "", *box, selected, *LISTED]
    above = ["● ok", "", selected, *LISTED[:2], *box, FOOTER]
    claude = Claude()

    assert claude.read_screen(read_styled("\n".join(below))) == View(draft, instead=instead)
    assert claude.read_screen(read_styled("\n".join(above))) == View(draft, instead=instead)


@pytest.mark.spec("B0")
def test_many_rows_below_a_box_that_are_no_list_of_commands_hide_it() -> None:
    rows = [f"  row {number}" for number in range(8)]
    screen = read_styled("\n".join([RULE, "❯ /model", RULE, *rows]))

    assert Claude().read_screen(screen) == View()


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["!touch made", " !touch made", "\n!touch made"])
def test_what_would_be_run_as_a_shell_command_is_refused(words: str) -> None:
    assert "shell command" in Claude().why_not(words)


@pytest.mark.parametrize("words", ["Build it!", "# remember this", "/etc is full", "1 != 2"])
def test_other_words_are_not_refused(words: str) -> None:
    assert Claude().why_not(words) == ""


def test_its_command_line_names_the_session_its_hooks_the_model_and_the_mode() -> None:
    plain = Claude().command_line(order())
    full = Claude().command_line(order(model="opus", permission_mode="plan"))
    again = Claude().command_line(order(resumes=True))

    settings = ("--settings", "/s/settings.json")
    assert plain.argv == ("claude", "--session-id", "n1", *settings)
    assert full.argv == (*plain.argv, "--model", "opus", "--permission-mode", "plan")
    assert again.argv == ("claude", "--resume", "n1", *settings)


def test_its_settings_of_one_session_tell_us_of_each_event() -> None:
    ((path, text),) = Claude().command_line(order()).files.items()

    hooks = json.loads(text)["hooks"]
    assert path == Path("/s/settings.json")
    assert set(hooks) == set(EVENTS)
    assert {entry["hooks"][0]["command"] for (entry,) in hooks.values()} == {"hook 'a b'"}
