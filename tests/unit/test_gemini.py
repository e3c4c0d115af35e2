from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.gemini.agent import EVENTS, Gemini
from rookery.agents.installations import SHAPES
from rookery.agents.shared import claude_style_hooks as hooks
from rookery.model import facts
from rookery.model.facts import Fact, SessionId
from rookery.model.permissions import (
    INEXACT,
    Call,
    Outcome,
    Question,
    Stop,
    Verdict,
    digest,
)
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import Order

RECORDINGS = Path(__file__).parents[1] / "recordings" / "gemini-0.61.0"

S = SessionId("s")
NATIVE = "4928bf68-5714-484d-afd2-70167ff2e21d"
LATER = "3719c0fb-2a17-402e-8437-a377fd82a544"
CHATS = "/home/person/.gemini/tmp/project/chats"
TRANSCRIPT = f"{CHATS}/session-2026-11-15T12-55-{NATIVE[:8]}.jsonl"
LATER_TRANSCRIPT = f"{CHATS}/session-2026-11-15T12-58-{LATER[:8]}.jsonl"

#: What names the recorded call, whatever it is told with.
TOUCH = INEXACT + digest("run_shell_command", {"command": "touch one.txt"})

WRAPPED = "\n".join(["say:", *["x" * 114] * 3, "x" * 58])

#: What stands in the box, and whether it works, in each recording that shows the box.
BOXES = {
    # Of a terminal without true colour, where the box is a background colour only.
    "plain-answered": View(""),
    "plain-draft": View("half a thou"),
    "plain-idle": View(""),
    "plain-pasted-lines": View("a b c\nd e f"),
    "plain-working": View("", is_working=True),
    "answered": View(""),
    "bang-pasted": View("!touch made"),
    "clean-ui": View(""),
    "clean-ui-draft": View("half a thou"),
    "clean-ui-working": View("", is_working=True),
    "draft": View("half a thou"),
    "failed": View(""),
    "history-search": View(obstacle="its history search is open"),
    "idle": View(""),
    "interrupted": View(""),
    "mode-yolo": View(""),
    "narrow-working": View("", is_working=True),
    "no-colour-answered": View(""),
    "no-colour-draft": View("half a thou"),
    "pasted-lines": View("a b c\nd e f\n\ng h i"),
    "pasted-long": View("[Pasted Text: 21 lines]"),
    "pasted-wrapped": View(WRAPPED),
    "permitted": View(""),
    "quit-typed": View("/quit"),
    "refused": View(""),
    "shell-draft": View("!touch made"),
    "shell-mode": View("!"),
    "slash-list": View("/mod", instead="/model"),
    "shortcuts": View(""),
    "start-banner": View(""),
    "vim-insert": View(""),
    "vim-normal": View(""),
    "working": View("", is_working=True),
    "working-draft": View("draft while working", is_working=True),
    "working-in-tool": View("", is_working=True),
    "working-queued": View("", is_working=True),
}

#: The kind of what is asked in each recording that shows a dialog, and how it begins.
DIALOGS = {
    "at-list": ("question", "It offers to complete a word: codebase_investigator"),
    "dialog-model": ("question", "Select Model"),
    "permission-above-the-box": (
        "permission",
        "? Shell  touch made touch made Allow execution",
    ),
    "permission-edit": ("permission", "? WriteFile  Writing to foo.txt 1 hello there Apply"),
    "permission-shell": ("permission", "? Shell  touch made touch made Allow execution of"),
    "question": ("question", "Answer Questions Which colour?"),
    "start-api-key": ("question", "Enter Gemini API Key"),
    "start-auth": ("question", "? Get started How would you like to authenticate"),
    "start-trust": ("question", "Do you trust the files in this folder?"),
}

#: What each recorded hook tells.
TOLD: dict[str, list[Fact]] = {
    "AfterAgent": [facts.TurnEnded(S, "hello gem")],
    "AfterModel": [facts.Noted(S, "AfterModel")],
    "AfterTool": [facts.ToolUsed(S, "run_shell_command", TOUCH)],
    "AfterTool.ask_user": [facts.ToolUsed(S, "ask_user")],
    "BeforeAgent": [facts.TurnStarted(S, "say: hello gem", is_only_one=True)],
    "BeforeModel": [facts.Noted(S, "BeforeModel")],
    "BeforeTool": [facts.ToolCalled(S, "run_shell_command")],
    "BeforeTool.ask_user": [facts.ToolCalled(S, "ask_user")],
    "BeforeToolSelection": [facts.Noted(S, "BeforeToolSelection")],
    "Notification.ToolPermission.ask_user": [],
    "Notification.ToolPermission.exec": [],
    "Notification.ToolPermission.info": [],
    "PreCompress": [facts.Noted(S, "PreCompress", "auto")],
    "SessionEnd.clear": [facts.ConversationLeft(S, "clear")],
    "SessionEnd.exit": [facts.SessionEnded(S, "it ended: exit")],
    "SessionStart.clear": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.resume": [facts.SessionStarted(S, "", LATER_TRANSCRIPT)],
    "SessionStart.startup": [facts.SessionStarted(S, "", TRANSCRIPT)],
}


def read(name: str) -> View:
    return Gemini().read_screen(read_styled((RECORDINGS / f"{name}.txt").read_text()))


def hook(name: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads((RECORDINGS / "hooks" / f"{name}.json").read_text())
    return payload


def about(**details: object) -> dict[str, Any]:
    """Return what Gemini tells of a dialog before it is drawn."""
    return {**hook("Notification.ToolPermission.exec"), "details": details}


def order(*, model: str = "", permission_mode: str = "", resumes: bool = False) -> Order:
    native_id = NativeId("11111111-2222-4333-8444-555555555555")
    return Order(("gemini",), native_id, model, permission_mode, "hook", Path("/s"), resumes)


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

    kind, beginning = asked
    assert view.dialog
    assert view.box is None
    assert view.dialog.kind == kind
    assert view.dialog.text.startswith(beginning)


def test_words_that_were_sent_are_not_taken_for_the_box() -> None:
    sent = (RECORDINGS / "working.txt").read_text().split("\n")
    cut_short = "\n".join(sent[: next(n for n, line in enumerate(sent) if "Thinking" in line)])

    assert "gate: a" in cut_short
    assert Gemini().read_screen(read_styled(cut_short)) == View()


def test_words_that_were_sent_are_not_taken_for_the_box_above_what_is_asked() -> None:
    asking = (RECORDINGS / "permission-shell.txt").read_text()

    view = Gemini().read_screen(read_styled("\n" + asking))

    assert (view.box, view.dialog) == (None, read("permission-shell").dialog)


def test_what_was_asked_before_something_was_said_is_over() -> None:
    asking = (RECORDINGS / "permission-shell.txt").read_text()

    assert Gemini().read_screen(read_styled(asking + "✦ It\nhas\nrun.")) == View()


def test_a_last_line_without_labels_is_no_list() -> None:
    lines = read_styled((RECORDINGS / "draft.txt").read_text()).lines
    unlabelled = [line for line in lines if "(/directory)" not in line]

    assert len(unlabelled) == len(lines) - 1
    assert Gemini().read_screen(read_styled("\n".join(unlabelled))) == View("half a thou")


@pytest.mark.parametrize("screen", ["", "\n\n", "Loading extensions...", "▄" * 40])
def test_a_screen_that_is_not_drawn_yet_shows_nothing(screen: str) -> None:
    assert Gemini().read_screen(read_styled(screen)) == View()


def test_a_list_that_is_still_loading_hides_the_box() -> None:
    screen = (RECORDINGS / "at-list.txt").read_text()
    first, second = " codebase_investigator [Agent]", "notes.md"
    plain = "\n".join(read_styled(screen).lines)

    loading = plain.replace(first, " Loading suggestions...").replace(second, "")

    assert Gemini().read_screen(read_styled(loading)) == View()


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        (WRAPPED, "say: " + "x" * 400, True),
        ("[Pasted Text: 21 lines]", "anything", True),
        ("[Pasted Text: 700 chars #2]", "anything", True),
        ("[Pasted Text: 21 lines] and more", "anything", False),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
def test_a_box_holds_words_as_gemini_shows_them(box: str, words: str, *, holds: bool) -> None:
    assert Gemini().holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["Build it.", "!touch made", " !touch made", "/etc is full"])
def test_nothing_that_is_pasted_would_be_run(words: str) -> None:
    assert Gemini().why_not(words) == ""


def test_its_command_line_names_the_session_the_model_and_the_mode() -> None:
    plain = Gemini().command_line(order())
    full = Gemini().command_line(order(model="gemini-2.5-flash", permission_mode="auto_edit"))
    again = Gemini().command_line(order(resumes=True))

    native_id = "11111111-2222-4333-8444-555555555555"
    assert plain.argv == ("gemini", "--session-id", native_id)
    assert full.argv[3:] == ("--model", "gemini-2.5-flash", "--approval-mode", "auto_edit")
    assert again.argv == ("gemini", "--resume", native_id)
    assert not plain.files


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("name", "told"), TOLD.items())
def test_a_hook_as_gemini_sends_it_becomes_facts(name: str, told: list[Fact]) -> None:
    assert list(Gemini().read_hook(hook(name), S)) == told


@pytest.mark.spec("C4")
def test_a_hook_as_gemini_sends_it_says_who_sent_it() -> None:
    started = Gemini().identify(hook("SessionStart.startup"))
    stopped = Gemini().identify(hook("AfterAgent"))

    assert (started.agent, started.native_id, started.cwd, started.event) == (
        *("gemini", NATIVE, "/code/project"),
        "SessionStart",
    )
    assert started.is_new
    assert (stopped.agent, stopped.native_id, stopped.cwd, stopped.event) == (
        *("gemini", NATIVE, "/code/project"),
        "AfterAgent",
    )


@pytest.mark.spec("A2")
def test_a_turn_that_ends_without_a_word_has_failed() -> None:
    nothing = {**hook("AfterAgent"), "prompt_response": "[no response text]"}

    assert list(Gemini().read_hook(nothing, S)) == [facts.TurnEnded(S, "", "failed")]


@pytest.mark.spec("B2")
def test_the_contents_of_mentioned_files_are_no_part_of_the_prompt() -> None:
    added = "\n--- Content from referenced files ---\nContent from @a.txt:\nhello\n"
    told = {**hook("BeforeAgent"), "prompt": f"Read @a.txt{added}--- End of content ---"}

    (started,) = Gemini().read_hook(told, S)
    assert started == facts.TurnStarted(S, "Read @a.txt", is_only_one=True)


@pytest.mark.spec("D1", "D3")
def test_what_it_is_about_to_do_can_be_decided_and_is_not_asked_for() -> None:
    call = Gemini().read_call(hook("BeforeTool"))

    given = {"command": "touch one.txt", "description": "scripted"}
    assert call == Call("run_shell_command", given, is_asked=False, mark=TOUCH)


@pytest.mark.spec("D2")
def test_what_its_dialog_asks_is_the_call_that_it_told_of_and_takes_keys() -> None:
    before = Gemini().read_call(hook("BeforeTool"))
    shown = Gemini().read_call(hook("Notification.ToolPermission.exec"))

    command = {"command": "touch one.txt"}
    assert shown == Call("run_shell_command", command, by_keys=True, mark=TOUCH)
    assert before
    assert (shown.is_asked, shown.digest) == (True, before.digest)


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("title", "tool"), [("Confirm Write: a.txt", "write_file"), ("Confirm Edit: a", "replace")]
)
def test_an_edit_is_known_by_its_file_however_that_is_called(title: str, tool: str) -> None:
    file = "/code/project/a.txt"
    told = {"tool_name": tool, "tool_input": {"file_path": "a.txt", "content": "x"}}
    before = Gemini().read_call({**hook("BeforeTool"), **told})
    after = list(Gemini().read_hook({**hook("AfterTool"), **told}, S))

    shown = Gemini().read_call(about(type="edit", title=title, filePath=file, newContent="x"))

    assert before
    assert shown
    assert (shown.tool, shown.by_keys) == (tool, True)
    assert shown.digest == before.digest
    assert after == [facts.ToolUsed(S, tool, shown.digest)]


def before(tool: str, **given: str) -> Call:
    """Return the call that Gemini is about to make."""
    call = Gemini().read_call({**hook("BeforeTool"), "tool_name": tool, "tool_input": given})
    assert call
    return call


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    "call",
    [
        before("run_shell_command", command="ls", dir_path="/x"),
        before("run_shell_command", command="ls"),
        before("replace", file_path="a", old_string="x", new_string="y"),
        Gemini().read_call(about(type="exec", command="ls")),
        Gemini().read_call(about(type="edit", title="", filePath="/a", newContent="x")),
        Gemini().read_call(about(type="mcp", serverName="web", toolName="get")),
        Gemini().read_call(about(type="info", title="Confirm: ReadFolder", prompt=".")),
    ],
)
def test_what_is_not_told_as_a_whole_is_never_granted(call: Call) -> None:
    assert call.digest.startswith(INEXACT)


@pytest.mark.spec("D2")
def test_a_file_is_written_again_unasked_only_with_the_same_content() -> None:
    written = before("write_file", file_path="a.txt", content="x")
    other = before("write_file", file_path="a.txt", content="y")
    shown = Gemini().read_call(
        about(
            type="edit",
            title="Confirm Write: a.txt",
            filePath="/code/project/a.txt",
            newContent="x",
        )
    )

    assert shown
    assert (written.digest, written.digest == other.digest) == (shown.digest, False)
    assert not written.digest.startswith(INEXACT)


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("details", "tool"),
    [
        ({"type": "info", "title": "Confirm: ReadFolder", "prompt": "."}, "list_directory"),
        ({"type": "info", "title": "Confirm Web Fetch", "prompt": "see x"}, "web_fetch"),
        ({"type": "mcp", "serverName": "web", "toolName": "get"}, "mcp_web_get"),
        ({"type": "something new", "title": "Confirm: Dance"}, "Dance"),
        ({}, ""),
    ],
)
def test_a_dialog_is_asked_about_whatever_it_is(details: dict[str, str], tool: str) -> None:
    shown = Gemini().read_call(about(**details))

    assert shown
    assert (shown.tool, shown.kind, shown.by_keys) == (tool, "permission", True)


@pytest.mark.spec("D5")
def test_a_question_is_asked_once_before_its_dialog() -> None:
    asked = Gemini().read_call(hook("BeforeTool.ask_user"))
    shown = Gemini().read_call(hook("Notification.ToolPermission.ask_user"))

    assert asked
    assert asked.questions == (
        Question("Which colour?", ("Red", "Blue"), descriptions=("warm", "cold")),
    )
    assert (asked.is_asked, asked.by_keys) == (True, False)
    assert shown is None


@pytest.mark.parametrize("name", ["AfterTool", "AfterAgent", "SessionEnd.exit"])
def test_other_hooks_only_tell(name: str) -> None:
    assert Gemini().read_call(hook(name)) is None


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (None, {"decision": "ask"}),
        (Verdict(Outcome.ALLOWED, "person"), None),
        (Verdict(Outcome.GONE, "terminal"), {"decision": "ask"}),
        (Verdict(Outcome.DENIED, "rule", "No."), {"decision": "deny", "reason": "No."}),
        (Verdict(Outcome.DENIED, "x"), {"decision": "deny", "reason": "It was denied."}),
    ],
)
def test_a_decision_is_written_as_gemini_reads_it(
    verdict: Verdict | None, said: dict[str, str] | None
) -> None:
    written = Gemini().answer(hook("BeforeTool"), verdict)

    assert (json.loads(written) if written else None) == said
    assert Gemini().answer(hook("Notification.ToolPermission.exec"), verdict) == ""


@pytest.mark.spec("D5")
def test_an_answer_is_given_instead_of_the_dialog_and_where_there_is_none_it_is_shown() -> None:
    blue = Verdict(Outcome.ANSWERED, "person", answers={"Which colour?": ("Blue",)})

    said = json.loads(Gemini().answer(hook("BeforeTool.ask_user"), blue))

    reason = "The person has answered: Which colour? Blue"
    assert said == {"decision": "deny", "reason": reason}
    assert Gemini().answer(hook("BeforeTool.ask_user"), None) == ""


@pytest.mark.spec("D6")
def test_it_can_be_made_to_go_on_when_it_stops() -> None:
    stop = Gemini().read_stop(hook("AfterAgent"))

    said = json.loads(Gemini().go_on(hook("AfterAgent"), "Try again."))

    assert stop == Stop("hello gem", goes_on=False)
    assert said == {"decision": "deny", "reason": "Try again."}
    assert Gemini().read_stop(hook("BeforeAgent")) is None


@pytest.mark.spec("C1")
def test_its_hooks_are_installed_for_the_events_that_it_is_read_by() -> None:
    shape = SHAPES["gemini"]

    assert set(shape.timeouts) == set(EVENTS)
    assert set(EVENTS) == {
        *("SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterTool"),
        *("AfterAgent", "SessionEnd"),
    }
    assert EVENTS["BeforeTool"] == hooks.LONG_TIMEOUT * 1000
    assert EVENTS["Notification"] == hooks.TIMEOUT * 1000
