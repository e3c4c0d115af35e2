from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents.claude import screen
from rookery.agents.claude.agent import command_line
from rookery.agents.claude.hooks import EVENTS, HOOKS
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.contract.agents.claude import RECORDED

SPEC = LaunchSpec(("claude",), NativeId("n1"), "", "", "hook 'a b'", Path("/s"))


@pytest.mark.spec("B0")
def test_a_dialog_that_quotes_an_empty_box_is_a_dialog_also_without_its_footer() -> None:
    rule = "─" * 120
    recorded = RECORDED.text("permission-edit")
    quoting = recorded.replace("hello there", f"x\n{rule}\n❯\n{rule}\n")
    shown = quoting[: quoting.rindex("Esc to cancel")]

    view = screen.read(read_styled(shown))

    assert rule in shown
    assert (view.box, view.dialog and view.dialog.kind) == (None, "permission")


@pytest.mark.spec("B0", "C8")
@pytest.mark.parametrize("typed", ["/context", "@notes"])
def test_completions_below_the_box_are_no_dialog(typed: str) -> None:
    rule = "─" * 120
    listed = f"  ❯ {typed}     What it does\n    {typed}-2   Something else"

    view = screen.read(read_styled(f"{rule}\n❯ {typed}\n{rule}\n{listed}\n"))

    assert view == View(typed)


@pytest.mark.spec("B0")
def test_words_that_look_like_an_option_are_a_draft() -> None:
    drafted = RECORDED.text("draft").replace("half a thou", "1. Yes")

    assert screen.read(read_styled(drafted)) == View("1. Yes")


@pytest.mark.spec("B0", "B2")
@pytest.mark.parametrize("words", ["press Enter to confirm", "Esc to cancel", "Esc to exit"])
def test_words_of_a_dialogs_footer_are_a_draft(words: str) -> None:
    drafted = RECORDED.text("draft").replace("half a thou", words)

    assert screen.read(read_styled(drafted)) == View(words)


@pytest.mark.spec("B0", "B2")
def test_words_of_a_dialogs_footer_are_a_draft_in_a_box_that_is_cut() -> None:
    rows = ["  one", "  two", "  Esc to cancel", RULE, FOOTER]

    assert screen.read(read_styled("\n".join(rows))).is_cut


@pytest.mark.spec("A1")
def test_a_model_that_the_person_chose_is_told_by_its_hook() -> None:
    assert HOOKS.identify(RECORDED.hook("PostModelSwitch")).model == "claude-sonnet-5-5"


def test_its_command_line_names_the_session_its_hooks_the_model_and_the_mode() -> None:
    plain = command_line(SPEC)
    full = command_line(replace(SPEC, model="opus", permission_mode="plan"))
    again = command_line(replace(SPEC, resumes=True))

    settings = ("--settings", "/s/settings.json")
    assert plain.argv == ("claude", "--session-id", "n1", *settings)
    assert full.argv == (*plain.argv, "--model", "opus", "--permission-mode", "plan")
    assert again.argv == ("claude", "--resume", "n1", *settings)


def test_its_settings_of_one_session_tell_us_of_each_event() -> None:
    ((path, text),) = command_line(SPEC).files.items()

    hooks = json.loads(text)["hooks"]
    assert path == Path("/s/settings.json")
    assert set(hooks) == set(EVENTS)
    assert {entry["hooks"][0]["command"] for (entry,) in hooks.values()} == {"hook 'a b'"}


@pytest.mark.spec("C1", "D1")
def test_no_project_gives_a_value_to_a_variable_that_replaces_the_programs_of_hooks() -> None:
    users = {"LD_PRELOAD": "/usr/lib/faketime.so", "EDITOR": "vi"}

    ((_, text),) = command_line(replace(SPEC, environment=users)).files.items()

    variables = json.loads(text)["env"]
    assert variables["CLAUDE_CODE_SHELL_PREFIX"] == ""
    assert variables["LD_PRELOAD"] == "/usr/lib/faketime.so"
    assert "EDITOR" not in variables


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

    assert screen.read(read_styled("\n".join(below))) == View(draft, instead=instead)
    assert screen.read(read_styled("\n".join(above))) == View(draft, instead=instead)


@pytest.mark.spec("B0")
def test_many_rows_below_a_box_that_are_no_list_of_commands_hide_it() -> None:
    rows = [f"  row {number}" for number in range(8)]
    shown = read_styled("\n".join([RULE, "❯ /model", RULE, *rows]))

    assert screen.read(shown) == View()
