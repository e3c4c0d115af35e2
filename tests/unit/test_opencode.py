from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.opencode.agent import SETTINGS, OpenCode
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import INEXACT, Call, Outcome, Question, Verdict, digest
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId, Sender
from rookery.ports.agent import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "opencode-1.18.33"

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "draft": View("half a thou"),
    "escape-once": View("", is_working=True),
    "idle": View(""),
    "interrupted": View(""),
    "interrupted-retry": View(""),
    "pasted-lines": View("a b c\nd e f"),
    "pasted-long": View("[Pasted ~20 lines]"),
    "permitted": View(""),
    "quit-typed": View("/exit"),
    "refused": View(""),
    "retrying": View("", is_working=True),
    "sent-at-first": View("", is_working=True),
    "shell-draft": View("!ls"),
    "shell-mode": View("!"),
    "slash-list": View("/mo", instead="/models"),
    "shell-mode-at-first": View("!"),
    "wide-answered": View(""),
    "wide-working-draft": View("漢字 🙂 draft", is_working=True),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and all of its text.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: notes.md"),
    "at-list-at-first": ("question", "It offers to complete a word: notes.md"),
    "palette": ("question", "Commands"),
    "palette-at-first": ("question", "Commands"),
    "permission-always": (
        "permission",
        "Always allow This will allow edit until OpenCode is restarted.",
    ),
    "permission-edit": ("permission", "Permission required → Edit foo.txt 1 + hello there"),
    "permission-shell": ("permission", "Permission required # Shell command $ touch made"),
    "question": ("question", "Which colour? warm cold"),
    "wide-permission": ("permission", "Permission required # Shell command $ sleep 4"),
    "wide-question": ("question", "Which colour? warm cold"),
}

S = SessionId("s")
NATIVE = "ses_e20b3d8e5ffeLcLXZUox09jayx"
TOUCH = {"command": "touch one.txt", "description": "scripted"}

#: What each recorded call of our plugin tells.
#: The id of the recorded prompt.
PROMPT = "msg_1df4c273d001haAbdY3ziLyZNX"

#: The id of the recorded call.
CALL = "call_960a24b96c294ca6a6908526"

TOLD: dict[str, list[Fact]] = {
    "Interrupt": [facts.TurnEnded(S, "", "interrupted")],
    "Notification.retry": [facts.Noted(S, "Notification", "bad thing")],
    "PermissionRequest": [],
    "PermissionRequest.question": [],
    "PermissionSettled": [facts.InputSettled(S, "terminal")],
    "PostToolUse": [facts.ToolUsed(S, "bash", digest("bash", TOUCH), call_id=CALL)],
    "PreToolUse": [facts.ToolCalled(S, "bash")],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionStart": [facts.SessionStarted(S, "fake/fake-model")],
    "Stop": [facts.TurnEnded(S, "hello open\nmore", turn=PROMPT)],
    "StopFailure": [facts.TurnEnded(S, "bad thing", "failed")],
    "SubagentStart": [facts.Noted(S, "SubagentStart", "general")],
    "SubagentStop": [facts.Noted(S, "SubagentStop")],
    "Usage": [facts.UsageReported(S, 8053, 2, 24_189)],
    "UserPromptSubmit": [facts.TurnStarted(S, "say: hello open", PROMPT)],
}


def hook(name: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads((RECORDINGS / "hooks" / f"{name}.json").read_text())
    return payload


def read(name: str) -> View:
    return OpenCode().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def order(
    *, model: str = "", resumes: bool = False, environment: Mapping[str, str] | None = None
) -> Order:
    return Order(
        command=("opencode",),
        native_id=NativeId("ses_1"),
        model=model,
        permission_mode="",
        hook="sh -c 'a b' /state/rookery-hook opencode",
        folder=Path("/s p"),
        resumes=resumes,
        door=Path("/run/door"),
        spool=Path("/state/spool"),
        environment=environment or {},
    )


def test_every_recording_is_read() -> None:
    assert {file.stem for file in RECORDINGS.glob("*.txt")} == {*BOXES, *DIALOGS}
    assert {file.stem for file in RECORDINGS.glob("hooks/*.json")} == {*TOLD}


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "view"), BOXES.items())
def test_a_screen_shows_what_is_typed_and_whether_it_works(name: str, view: View) -> None:
    assert read(name) == view


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("name", "asked"), DIALOGS.items())
def test_a_screen_shows_what_is_asked(name: str, asked: tuple[str, str]) -> None:
    view = read(name)

    assert view.dialog
    assert view.box is None
    assert (view.dialog.kind, view.dialog.text) == asked


def test_a_table_that_mentions_the_escape_key_is_no_dialog() -> None:
    answered = read_styled((RECORDINGS / "answered.txt").read_text()).lines
    said = next(row for row, line in enumerate(answered) if "one two three" in line)
    table = [
        "     Save          ctrl+s",
        "     Leave            esc",
        "     Help             f1",
    ]
    screen = [*answered[:said], *table, *answered[said + 3 :]]

    assert OpenCode().read_screen(read_styled("\n".join(screen))) == View("")


def test_what_a_list_covers_is_not_in_the_box() -> None:
    lines = list(read_styled((RECORDINGS / "quit-typed.txt").read_text()).lines)
    row = next(row for row, line in enumerate(lines) if "Exit the app" in line)
    lines[row - 1] = "  ┃  words that were sent"

    assert OpenCode().read_screen(read_styled("\n".join(lines))) == View("/exit")


def test_what_stands_beside_the_box_is_not_in_it() -> None:
    lines = list(read_styled((RECORDINGS / "wide-working-draft.txt").read_text()).lines)
    row = next(row for row, line in enumerate(lines) if "draft" in line and "say:" not in line)
    edge = next(line for line in lines if "╹" in line)
    wide = 3  # characters in this draft that take two columns
    lines[row] = lines[row].ljust(len(edge) - wide) + "src/changed.py +1"

    view = OpenCode().read_screen(read_styled("\n".join(lines)))

    assert view == View("漢字 🙂 draft", is_working=True)


@pytest.mark.parametrize("screen", ["", "\n\n", "┃", "  ┃  one\n  ┃  two"])
def test_a_screen_that_is_not_drawn_yet_shows_nothing(screen: str) -> None:
    assert OpenCode().read_screen(read_styled(screen)) == View()


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        ("Build\nit.", "Build it.", True),
        ("[Pasted ~20 lines]", "anything", True),
        ("[Pasted ~20 lines] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_opencode_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert OpenCode().holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["Build it.", "!touch made", " !touch made", "/etc is full"])
def test_nothing_that_is_pasted_would_be_run(words: str) -> None:
    assert OpenCode().why_not(words) == ""


def test_its_command_line_names_the_model_and_what_to_go_on_with() -> None:
    plain = OpenCode().command_line(order())
    full = OpenCode().command_line(order(model="fake/fake-model"))
    again = OpenCode().command_line(order(resumes=True))

    assert plain.argv == ("opencode",)
    assert full.argv == ("opencode", "--model", "fake/fake-model")
    assert again.argv == ("opencode", "--session", "ses_1")


@pytest.mark.spec("C1")
def test_each_session_is_given_our_plugin_with_where_to_tell() -> None:
    line = OpenCode().command_line(order())

    ((file, text),) = line.files.items()
    assert file == Path("/s p/rookery.js")
    assert 'const HOOK = ["sh", "-c", "a b", "/state/rookery-hook", "opencode"]' in text
    assert 'const DOOR = "/run/door"' in text
    assert 'const SPOOL = "/state/spool"' in text
    assert "@rookery" not in text
    assert json.loads(line.environment[SETTINGS]) == {"plugin": ["file:///s%20p/rookery.js"]}


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ("", {"plugin": ["file:///s%20p/rookery.js"]}),
        ('{"model": "m"}', {"model": "m", "plugin": ["file:///s%20p/rookery.js"]}),
        ('{"plugin": ["their"]}', {"plugin": ["their", "file:///s%20p/rookery.js"]}),
        ("[1]", [1]),
    ],
)
def test_settings_that_the_environment_has_already_stay(given: str, settings: object) -> None:
    line = OpenCode().command_line(order(environment={SETTINGS: given}))

    assert json.loads(line.environment[SETTINGS]) == settings


@pytest.mark.spec("C1")
def test_settings_that_cannot_be_read_stay_as_they_are() -> None:
    theirs = '{"model": "m", // mine\n}'

    line = OpenCode().command_line(order(environment={SETTINGS: theirs}))

    assert line.environment[SETTINGS] == theirs


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("name", "told"), TOLD.items())
def test_what_our_plugin_tells_becomes_facts(name: str, told: list[Fact]) -> None:
    assert list(OpenCode().read_hook(hook(name), S)) == told


@pytest.mark.spec("C4")
def test_what_our_plugin_tells_says_who_sent_it() -> None:
    started = OpenCode().identify(hook("SessionStart"))

    assert started == Sender(
        "opencode",
        NativeId(NATIVE),
        "/code/project",
        "SessionStart",
        model="fake/fake-model",
    )
    assert started.is_new


@pytest.mark.spec("A11")
@pytest.mark.parametrize(
    ("tokens", "cost", "told"),
    [
        ((10, 2, 3, 4, 5), 0.5, [facts.UsageReported(S, 19, 5, 500_000)]),
        ((10, 2, 0, 0, 0), 0, [facts.UsageReported(S, 10, 2)]),
        ((10, 2, 0, 0, 0), "free", [facts.UsageReported(S, 10, 2)]),
        ((0, 0, 0, 0, 0), 0, []),
    ],
)
def test_tokens_are_counted_with_those_from_a_cache_and_a_price_only_if_there_is_one(
    tokens: tuple[int, ...], cost: object, told: list[Fact]
) -> None:
    fresh, written, thought, from_cache, to_cache = tokens
    cache = {"read": from_cache, "write": to_cache}
    used = {"input": fresh, "output": written, "reasoning": thought, "cache": cache}

    usage = {**hook("Usage"), "tokens": used, "cost": cost}

    assert list(OpenCode().read_hook(usage, S)) == told


def test_tokens_that_cannot_be_read_are_not_counted() -> None:
    usage = {**hook("Usage"), "tokens": {"input": "many"}}

    assert list(OpenCode().read_hook(usage, S)) == []


@pytest.mark.spec("D2")
def test_what_is_asked_of_a_call_that_was_not_told_before_is_never_granted() -> None:
    asked = OpenCode().read_call({**hook("PermissionRequest"), "is_partial": True})

    assert asked
    assert asked.digest.startswith(INEXACT)


@pytest.mark.spec("D1", "D2")
def test_a_call_is_the_same_before_it_runs_and_when_it_is_asked_about() -> None:
    before = OpenCode().read_call(hook("PreToolUse"))
    asked = OpenCode().read_call(hook("PermissionRequest"))

    assert before == Call("bash", TOUCH, is_asked=False)
    assert asked == Call("bash", TOUCH)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("several", [True, False])
def test_a_question_is_read_with_its_options(*, several: bool) -> None:
    payload = hook("PermissionRequest.question")
    payload["tool_input"]["questions"][0]["multiple"] = several

    call = OpenCode().read_call(payload)

    assert call
    asked = Question("Which colour?", ("Red", "Blue"), several, ("warm", "cold"))
    assert (call.tool, call.questions) == ("question", (asked,))


NO = Verdict(Outcome.DENIED, "person", "Not on a Sunday.")


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("PreToolUse", Verdict(Outcome.ALLOWED, "rule"), None),
        (
            "PreToolUse",
            Verdict(Outcome.GONE, "terminal"),
            {"decision": "deny", "reason": "Nobody was there to decide this."},
        ),
        ("PreToolUse", NO, {"decision": "deny", "reason": "Not on a Sunday."}),
        (
            "PreToolUse",
            None,
            {"decision": "deny", "reason": "Nobody was there to decide this."},
        ),
        ("PermissionRequest", None, None),
        ("PermissionRequest", Verdict(Outcome.GONE, "terminal"), None),
        ("PermissionRequest", Verdict(Outcome.ALLOWED, "person"), {"decision": "allow"}),
        ("PermissionRequest", NO, {"decision": "deny", "reason": "Not on a Sunday."}),
        (
            "PermissionRequest",
            Verdict(Outcome.DENIED, "person"),
            {"decision": "deny", "reason": "It was denied."},
        ),
        ("PermissionRequest.question", None, None),
    ],
)
def test_a_decision_is_written_as_our_plugin_reads_it(
    name: str, verdict: Verdict | None, said: dict[str, str] | None
) -> None:
    written = OpenCode().answer(hook(name), verdict)

    assert (json.loads(written) if written else None) == said


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("verdict", "answers"),
    [
        (
            Verdict(Outcome.ANSWERED, "person", answers={"Which colour?": ("Red", "Blue")}),
            [["Red", "Blue"]],
        ),
        (Verdict(Outcome.ANSWERED, "person", answers={"Another?": ("x",)}), [["No answer."]]),
        (NO, [["No answer. Not on a Sunday."]]),
    ],
)
def test_each_question_is_answered_if_only_with_that_nobody_does(
    verdict: Verdict, answers: list[list[str]]
) -> None:
    said = json.loads(OpenCode().answer(hook("PermissionRequest.question"), verdict))

    assert said == {"decision": "answer", "answers": answers}


def test_it_cannot_be_made_to_go_on_when_it_stops() -> None:
    assert OpenCode().read_stop(hook("Stop")) is None
