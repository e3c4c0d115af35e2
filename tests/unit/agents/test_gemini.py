from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.gemini import screen
from rookery.agents.gemini.agent import GEMINI, command_line
from rookery.agents.gemini.hooks import EVENTS, HOOKS
from rookery.agents.shared.claude_style_hooks import DECISION_TIMEOUT_S, HOOK_TIMEOUT_S
from rookery.agents.transcripts import without_repeats
from rookery.model import facts
from rookery.model.permissions import (
    INEXACT,
    Call,
    Outcome,
    Question,
    Stop,
    Verdict,
)
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from rookery.ports.transcript import Passage
from tests.support.contract.agents.case import S
from tests.support.contract.agents.gemini import RECORDED, TOUCH, WRAPPED
from tests.support.dialects import shape_of


def read(name: str) -> View:
    return screen.read(RECORDED.screen(name))


def about(**details: object) -> dict[str, Any]:
    """Return what Gemini tells of a dialog before it is drawn."""
    return {**RECORDED.hook("Notification.ToolPermission.exec"), "details": details}


NATIVE = NativeId("11111111-2222-4333-8444-555555555555")
SPEC = LaunchSpec(("gemini",), NATIVE, "", "", "hook", Path("/s"))


@pytest.mark.spec("F3")
def test_a_prompt_that_is_queued_while_it_loads_is_work() -> None:
    """It takes the prompt up by itself, though nothing else shows that it is not idle."""
    queued = RECORDED.text("working-queued").split("\n")
    loading = ["" if "Thinking" in line else line for line in queued]
    above = next(n for n, line in enumerate(queued) if "Queued" in line)
    later = [*queued[: above + 2], "", "✦ Done.", "", *loading[above + 2 :]]

    assert screen.read(read_styled("\n".join(loading))) == View("", is_working=True)
    assert screen.read(read_styled("\n".join(later))) == View("")


@pytest.mark.spec("F3")
@pytest.mark.parametrize("mark", ["✓", "✕", "⊷", "-"])
@pytest.mark.parametrize("printed", ["● Button › renders", "● 1. Yes", "Press Enter to select"])
def test_what_a_tool_prints_is_not_taken_for_a_dialog(mark: str, printed: str) -> None:
    lines = list(RECORDED.screen("working-in-tool").lines)
    head = next(row for row, line in enumerate(lines) if "⊷" in line)
    lines[head] = lines[head].replace("⊷", mark)
    lines.insert(head + 1, f"│ {printed}  │")

    assert screen.read(read_styled("\n".join(lines))).dialog is None


@pytest.mark.spec("F3")
def test_what_a_tool_prints_below_the_top_of_the_screen_is_not_taken_for_a_dialog() -> None:
    lines = list(RECORDED.screen("working-in-tool").lines)
    head = next(row for row, line in enumerate(lines) if "⊷" in line)
    rest = ["│ ● Button › renders  │", *lines[head + 1 :]]

    assert screen.read(read_styled("\n".join(rest))).dialog is None


def test_words_that_were_sent_are_not_taken_for_the_box() -> None:
    sent = RECORDED.text("working").split("\n")
    cut_short = "\n".join(sent[: next(n for n, line in enumerate(sent) if "Thinking" in line)])

    assert "gate: a" in cut_short
    assert screen.read(read_styled(cut_short)) == View()


def test_words_that_were_sent_are_not_taken_for_the_box_above_what_is_asked() -> None:
    asking = RECORDED.text("permission-shell")

    view = screen.read(read_styled("\n" + asking))

    assert (view.box, view.dialog) == (None, read("permission-shell").dialog)


def test_what_was_asked_before_something_was_said_is_over() -> None:
    asking = RECORDED.text("permission-shell")

    assert screen.read(read_styled(asking + "✦ It\nhas\nrun.")) == View()


def test_a_last_line_without_labels_is_no_list() -> None:
    lines = read_styled(RECORDED.text("draft")).lines
    unlabelled = [line for line in lines if "(/directory)" not in line]

    assert len(unlabelled) == len(lines) - 1
    assert screen.read(read_styled("\n".join(unlabelled))) == View("half a thou")


def test_a_list_that_is_still_loading_hides_the_box() -> None:
    recorded = RECORDED.text("at-list")
    first, second = " codebase_investigator [Agent]", "notes.md"
    plain = "\n".join(read_styled(recorded).lines)

    loading = plain.replace(first, " Loading suggestions...").replace(second, "")

    assert screen.read(read_styled(loading)) == View()


@pytest.mark.spec("B2")
def test_a_box_holds_words_that_it_wraps() -> None:
    assert GEMINI.input.holds(WRAPPED, "say: " + "x" * 400)


def test_its_command_line_names_the_session_the_model_and_the_mode() -> None:
    plain = command_line(SPEC)
    full = command_line(replace(SPEC, model="gemini-2.5-flash", permission_mode="auto_edit"))
    again = command_line(replace(SPEC, resumes=True))

    assert plain.argv == ("gemini", "--session-id", NATIVE)
    assert full.argv[3:] == ("--model", "gemini-2.5-flash", "--approval-mode", "auto_edit")
    assert again.argv == ("gemini", "--resume", NATIVE)
    assert not plain.files


@pytest.mark.spec("A2")
def test_a_turn_that_ends_without_a_word_has_failed() -> None:
    nothing = {**RECORDED.hook("AfterAgent"), "prompt_response": "[no response text]"}

    assert list(HOOKS.read(nothing, S)) == [facts.TurnEnded(S, "", "failed")]


@pytest.mark.spec("B2")
def test_the_contents_of_mentioned_files_are_no_part_of_the_prompt() -> None:
    added = "\n--- Content from referenced files ---\nContent from @a.txt:\nhello\n"
    told = {
        **RECORDED.hook("BeforeAgent"),
        "prompt": f"Read @a.txt{added}--- End of content ---",
    }

    (started,) = HOOKS.read(told, S)
    assert started == facts.TurnStarted(S, "Read @a.txt", is_only_one=True)


@pytest.mark.spec("D1", "D3")
def test_what_it_is_about_to_do_can_be_decided_and_is_not_asked_for() -> None:
    call = HOOKS.read_call(RECORDED.hook("BeforeTool"))

    given = {"command": "touch one.txt", "description": "scripted"}
    assert call == Call("run_shell_command", given, is_asked=False, mark=TOUCH)


@pytest.mark.spec("D2")
def test_what_its_dialog_asks_is_the_call_that_it_told_of_and_takes_keys() -> None:
    before = HOOKS.read_call(RECORDED.hook("BeforeTool"))
    shown = HOOKS.read_call(RECORDED.hook("Notification.ToolPermission.exec"))

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
    before = HOOKS.read_call({**RECORDED.hook("BeforeTool"), **told})
    after = list(HOOKS.read({**RECORDED.hook("AfterTool"), **told}, S))

    shown = HOOKS.read_call(about(type="edit", title=title, filePath=file, newContent="x"))

    assert before
    assert shown
    assert (shown.tool, shown.by_keys) == (tool, True)
    assert shown.digest == before.digest
    assert after == [facts.ToolUsed(S, tool, shown.digest)]


def before(tool: str, **given: str) -> Call:
    """Return the call that Gemini is about to make."""
    call = HOOKS.read_call(
        {**RECORDED.hook("BeforeTool"), "tool_name": tool, "tool_input": given}
    )
    assert call
    return call


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    "call",
    [
        before("run_shell_command", command="ls", dir_path="/x"),
        before("run_shell_command", command="ls"),
        before("replace", file_path="a", old_string="x", new_string="y"),
        HOOKS.read_call(about(type="exec", command="ls")),
        HOOKS.read_call(about(type="edit", title="", filePath="/a", newContent="x")),
        HOOKS.read_call(about(type="mcp", serverName="web", toolName="get")),
        HOOKS.read_call(about(type="info", title="Confirm: ReadFolder", prompt=".")),
    ],
)
def test_what_is_not_told_as_a_whole_is_never_granted(call: Call) -> None:
    assert call.digest.startswith(INEXACT)


@pytest.mark.spec("D2")
def test_a_file_is_written_again_unasked_only_with_the_same_content() -> None:
    written = before("write_file", file_path="a.txt", content="x")
    other = before("write_file", file_path="a.txt", content="y")
    shown = HOOKS.read_call(
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
    shown = HOOKS.read_call(about(**details))

    assert shown
    assert (shown.tool, shown.kind, shown.by_keys) == (tool, "permission", True)


@pytest.mark.spec("D5")
def test_a_question_is_asked_once_before_its_dialog() -> None:
    asked = HOOKS.read_call(RECORDED.hook("BeforeTool.ask_user"))
    shown = HOOKS.read_call(RECORDED.hook("Notification.ToolPermission.ask_user"))

    assert asked
    assert asked.questions == (
        Question("Which colour?", ("Red", "Blue"), descriptions=("warm", "cold")),
    )
    assert (asked.is_asked, asked.by_keys) == (True, False)
    assert shown is None


@pytest.mark.parametrize("name", ["AfterTool", "AfterAgent", "SessionEnd.exit"])
def test_other_hooks_only_tell(name: str) -> None:
    assert HOOKS.read_call(RECORDED.hook(name)) is None


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (None, {"decision": "ask"}),
        (Verdict(Outcome.ALLOWED, "person"), None),
        (Verdict(Outcome.GONE, "terminal"), {"decision": "ask"}),
        (Verdict(Outcome.DENIED, "rule", "No."), {"decision": "deny", "reason": "No."}),
        (
            Verdict(Outcome.DENIED, "x"),
            {"decision": "deny", "reason": "Denied without a reason."},
        ),
    ],
)
def test_a_decision_is_written_as_gemini_reads_it(
    verdict: Verdict | None, said: dict[str, str] | None
) -> None:
    written = HOOKS.answer(RECORDED.hook("BeforeTool"), verdict)

    assert (json.loads(written) if written else None) == said
    assert HOOKS.answer(RECORDED.hook("Notification.ToolPermission.exec"), verdict) == ""


@pytest.mark.spec("D5")
def test_an_answer_is_given_instead_of_the_dialog_and_where_there_is_none_it_is_shown() -> None:
    blue = Verdict(Outcome.ANSWERED, "person", answers={"Which colour?": ("Blue",)})

    said = json.loads(HOOKS.answer(RECORDED.hook("BeforeTool.ask_user"), blue))

    reason = "The user answered: Which colour? Blue"
    assert said == {"decision": "deny", "reason": reason}
    assert HOOKS.answer(RECORDED.hook("BeforeTool.ask_user"), None) == ""


@pytest.mark.spec("D6")
def test_it_can_be_made_to_go_on_when_it_stops() -> None:
    stop = HOOKS.read_stop(RECORDED.hook("AfterAgent"))

    said = json.loads(HOOKS.go_on(RECORDED.hook("AfterAgent"), "Try again."))

    assert stop == Stop("hello gem", goes_on=False)
    assert said == {"decision": "deny", "reason": "Try again."}
    assert HOOKS.read_stop(RECORDED.hook("BeforeAgent")) is None


@pytest.mark.spec("C1")
def test_its_hooks_are_installed_for_the_events_that_it_is_read_by() -> None:
    shape = shape_of("gemini")

    assert set(shape.timeouts) == set(EVENTS)
    assert set(EVENTS) == {
        *("SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterTool"),
        *("AfterAgent", "SessionEnd"),
    }
    assert EVENTS["BeforeTool"] == DECISION_TIMEOUT_S * 1000
    assert EVENTS["Notification"] == HOOK_TIMEOUT_S * 1000


@pytest.mark.spec("D1")
@pytest.mark.parametrize("called", ["grep_search", "search_file_content"])
def test_a_former_name_of_a_tool_counts_as_its_name(called: str) -> None:
    assert HOOKS.traits.names_of(called) == {"grep_search", "search_file_content"}
    assert HOOKS.traits.names_of("glob") == {"glob"}


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("tool", "file", "uncertain"),
    [
        ("replace", "key.txt", {"file_path"}),
        ("replace", "/key.txt", set()),
        ("glob", "x", set()),
    ],
)
def test_a_relative_path_that_gemini_may_search_for_is_uncertain(
    tool: str, file: str, uncertain: set[str]
) -> None:
    call = HOOKS.read_call(
        {**RECORDED.hook("BeforeTool"), "tool_name": tool, "tool_input": {"file_path": file}}
    )

    assert call is not None
    assert call.uncertain == uncertain


@pytest.mark.spec("C8", "F3")
def test_prompts_that_are_repeated_after_a_refusal_are_left_out() -> None:
    at = datetime(2026, 11, 19, 23, 5, 58, tzinfo=UTC)
    passages = [
        Passage(at, "prompt", "touch it"),
        Passage(at + timedelta(seconds=1), "interruption", "Request cancelled."),
        Passage(at + timedelta(seconds=1, milliseconds=1), "prompt", "an earlier one"),
        Passage(at + timedelta(seconds=3), "prompt", "and on"),
    ]

    def prompts(agent: str) -> list[str]:
        left = without_repeats(agent, passages)
        return [each.text for each in left if each.kind == "prompt"]

    assert prompts("gemini") == ["touch it", "and on"]
    assert prompts("claude") == ["touch it", "an earlier one", "and on"]
