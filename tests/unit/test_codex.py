from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.codex.agent import EVENTS, Codex
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import digest
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId, Sender
from rookery.ports.agent import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "codex-0.166.0"

S = SessionId("s")
NATIVE = "01a1de06-53c2-7212-8a45-8a95c327ebea"
DAY = "/home/user/.codex/sessions/2026/11/15"
TRANSCRIPT = f"{DAY}/rollout-2026-11-15T07-05-19-{NATIVE}.jsonl"
LATER_DAY = "/home/person/.codex/sessions/2026/11/15"
LATER_NATIVE = "01a1df41-87e1-78e3-829d-233207042e82"
LATER_TRANSCRIPT = f"{LATER_DAY}/rollout-2026-11-15T12-49-36-{LATER_NATIVE}.jsonl"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "history-search": View(obstacle="its history search is open"),
    "history-search-typed": View(obstacle="its history search is open"),
    "bang-pasted": View("!touch made"),
    "cleared": View(""),
    "draft": View("half a thou"),
    "failed": View(""),
    "idle": View(""),
    "interrupted": View(""),
    "pasted-lines": View("a b c\nd e f\n\ng h i"),
    "pasted-long": View("[Pasted Content 1800 chars]"),
    "permitted": View(""),
    "quit-typed": View("/quit"),
    "refused": View(""),
    "slash-list": View("/mod", instead="/model"),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins. At the
#: start, nobody asks for the kind.
DIALOGS = {
    "at-list": ("question", ""),
    "dialog-model": ("question", "Select Model"),
    "dialog-permissions": ("question", "Update Model Permissions"),
    "permission": ("permission", "Would you like to run the following command? Environment"),
    "start-hooks": ("", "Hooks need review"),
    "start-model-offer": ("", "Meet GPT-6 Sol"),
    "start-trust": ("", "Folder access"),
}


def hook(name: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads((RECORDINGS / "hooks" / f"{name}.json").read_text())
    return payload


def of_call(name: str) -> str:
    payload = hook(name)
    return digest(payload["tool_name"], payload["tool_input"])


def used(name: str, call: str) -> facts.ToolUsed:
    """Return the fact of a recorded hook, which has the call's own id and its folder."""
    payload = hook(name)
    tool, call_id = str(payload["tool_name"]), str(payload["tool_use_id"])
    return facts.ToolUsed(S, tool, call, call_id=call_id, folder=str(payload["cwd"]))


def turn_of(name: str) -> str:
    """Return the id that Codex gives the turn of a hook."""
    return str(hook(name)["turn_id"])


#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "Interrupt": [facts.TurnEnded(S, "", "interrupted", turn_of("Interrupt"))],
    "PermissionRequest": [],
    "PostCompact": [
        facts.TurnEnded(S, "The conversation was compacted.", turn=turn_of("PostCompact"))
    ],
    "PostToolUse": [used("PostToolUse", digest("Bash", {"command": "echo inside"}))],
    "PostToolUse.apply_patch": [
        used("PostToolUse.apply_patch", of_call("PreToolUse.apply_patch"))
    ],
    "PostToolUse.request_user_input": [
        used("PostToolUse.request_user_input", of_call("PreToolUse.request_user_input"))
    ],
    "PreCompact": [facts.TurnStarted(S, "/compact", turn_of("PreCompact"))],
    "PreToolUse": [facts.ToolCalled(S, "Bash")],
    "PreToolUse.apply_patch": [facts.ToolCalled(S, "apply_patch")],
    "PreToolUse.request_user_input": [facts.ToolCalled(S, "request_user_input")],
    "SessionEnd": [facts.SessionEnded(S, "it ended")],
    "SessionStart": [facts.SessionStarted(S, "fake-model", TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "gpt-5.5", LATER_TRANSCRIPT)],
    "Stop.stop_hook_active": [
        facts.TurnEnded(S, "second answer", turn=turn_of("Stop.stop_hook_active"))
    ],
    "Stop": [facts.TurnEnded(S, "line two", turn=turn_of("Stop"))],
    "UserPromptSubmit": [
        facts.TurnStarted(
            S,
            "say: line one\nsay: line two",
            turn_of("UserPromptSubmit"),
            is_taken_in=True,
        )
    ],
}


def read(name: str) -> View:
    return Codex().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def order(*, model: str = "", permission_mode: str = "", resumes: bool = False) -> Order:
    native_id = NativeId("n1")
    return Order(
        ("codex",), native_id, model, permission_mode, "hook 'a b'", Path("/s"), resumes
    )


def cases(table: Mapping[str, object]) -> list[object]:
    return [pytest.param(name, expected, id=name) for name, expected in table.items()]


def test_every_recording_is_read() -> None:
    assert {file.stem for file in RECORDINGS.glob("*.txt")} == {*BOXES, *DIALOGS}
    assert {file.stem for file in RECORDINGS.glob("hooks/*.json")} == {*TOLD}


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
    assert Codex().read_screen(read_styled(screen)) == View()


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("name", "told"), TOLD.items())
def test_a_hook_as_codex_sends_it_becomes_facts(name: str, told: list[Fact]) -> None:
    assert list(Codex().read_hook(hook(name), S)) == told


@pytest.mark.spec("C4")
def test_a_hook_as_codex_sends_it_says_who_sent_it() -> None:
    started = Codex().identify(hook("SessionStart"))
    stopped = Codex().identify(hook("Stop"))

    who = partial(Sender, "codex", NativeId(NATIVE), "/code/project")
    assert started == who("SessionStart", TRANSCRIPT, model="fake-model")
    assert stopped == who("Stop", TRANSCRIPT, model="fake-model")


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        ("Build\nit.", "Build it.", True),
        ("[Pasted Content 1800 chars]", "anything", True),
        ("[Pasted Content 1800 chars] #2", "anything", True),
        ("[Pasted Content 1800 chars] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_codex_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert Codex().holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("draft", "above", "instead"),
    [
        ("/m", ["› /model     choose what model", "  /memories  configure memory"], "/model"),
        (
            "/m",
            ["  /model     choose what model", "› /memories  configure memory"],
            "/memories",
        ),
        ("/model", ["› /model  choose what model and reasoning effort to use"], ""),
        ("/model", ["› /etc/hosts is what I sent", "", "• ok"], ""),
        ("/model x", ["› /models  choose"], ""),
    ],
)
def test_a_list_of_commands_tells_what_enter_would_take(
    draft: str, above: list[str], instead: str
) -> None:
    lines = ["• ok", *above, "", f"› {draft}", "", "  GPT-5.5 default · /tmp/p"]

    assert Codex().read_screen(read_styled("\n".join(lines))) == View(draft, instead=instead)


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["!touch made", " !touch made", "\n!touch made"])
def test_what_would_be_run_as_a_shell_command_is_refused(words: str) -> None:
    assert "shell command" in Codex().why_not(words)


@pytest.mark.parametrize("words", ["Build it!", "# remember this", "/etc is full", "1 != 2"])
def test_other_words_are_not_refused(words: str) -> None:
    assert Codex().why_not(words) == ""


def test_its_command_line_starts_no_daemon_and_names_the_model_and_the_sandbox() -> None:
    plain = Codex().command_line(order())
    full = Codex().command_line(order(model="gpt-5.5", permission_mode="read-only"))
    again = Codex().command_line(order(resumes=True))

    assert plain.argv[:2] == ("codex", "--no-daemon")
    assert full.argv == (*plain.argv, "--model", "gpt-5.5", "--sandbox", "read-only")
    assert again.argv == (*plain.argv, "resume", "n1")
    assert not plain.files


def settings() -> dict[str, Any]:
    """Return what the command line sets, as Codex reads it."""
    words = Codex().command_line(order()).argv[2:]
    assert set(words[::2]) == {"-c"}
    return tomllib.loads("\n".join(words[1::2]))


def test_its_hooks_of_one_session_tell_us_of_each_event() -> None:
    given = settings()["hooks"]

    assert set(given) == {*EVENTS, "state"}
    for event, (_, timeout) in EVENTS.items():
        ((entry,),) = [each["hooks"] for each in given[event]]
        assert entry == {"type": "command", "command": "hook 'a b'", "timeout": timeout}
        assert timeout <= hooks.LONG_TIMEOUT


def test_its_hooks_of_one_session_are_trusted_by_their_hashes() -> None:
    state = settings()["hooks"]["state"]

    # The hash that Codex makes of what it would run: see its dialog "Hooks need review".
    what = {"type": "command", "command": "hook 'a b'", "timeout": 360, "async": False}
    whole = {"event_name": "stop", "hooks": [what]}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    trusted = state["/<session-flags>/config.toml:stop:0:0"]["trusted_hash"]
    assert len(state) == len(EVENTS)
    assert trusted == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.mark.spec("C8")
def test_a_dialog_begins_below_the_line_that_ends_the_turn_before() -> None:
    lines = [
        *("• done", "", "  Worked for <1s • 16:50", ""),
        *("  Where should the new conversation run?", ""),
        *("› 1. Here", "  2. In a worktree", "", "  Press enter to confirm or esc to go back"),
    ]

    dialog = Codex().read_screen(read_styled("\n".join(lines))).dialog

    assert dialog
    assert dialog.text == "Where should the new conversation run?"
    assert dialog.options == ("Here", "In a worktree")


@pytest.mark.spec("C8", "D5")
def test_a_command_is_shown_whole_also_if_a_line_of_it_looks_like_the_end_of_a_turn() -> None:
    lines = [
        *("  Would you like to run the following command?", ""),
        *("  $ rm -r x", "    Worked for 1s • 16:50", "    ls", ""),
        *("› 1. Yes, proceed (y)", "  2. No (esc)", "", "  Press enter to confirm"),
    ]

    dialog = Codex().read_screen(read_styled("\n".join(lines))).dialog

    assert dialog
    assert dialog.kind == "permission"
    assert "rm -r x" in dialog.subjects[0]
