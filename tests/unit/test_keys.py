from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rookery.agents import keys
from rookery.agents.claude import Claude
from rookery.agents.codex import Codex
from rookery.agents.gemini import Gemini
from rookery.agents.opencode import OpenCode
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.screens import Dialog, read_styled
from rookery.ports import Agent

RECORDINGS = Path(__file__).parents[1] / "recordings"

AGENTS: dict[str, tuple[Agent, str]] = {
    "claude": (Claude(), "claude-2.1.325"),
    "codex": (Codex(), "codex-0.166.0"),
    "gemini": (Gemini(), "gemini-0.61.0"),
    "opencode": (OpenCode(), "opencode-1.18.33"),
}

YES = Verdict(Outcome.ALLOWED, "person")
NO = Verdict(Outcome.DENIED, "person", "Not on a Sunday.")

#: What each recorded permission offers, and the keys for yes and no.
OFFERED = {
    ("claude", "permission-bash"): ("Yes", "No", "1", "escape"),
    ("claude", "permission-edit"): ("Yes", "No", "1", "escape"),
    ("codex", "permission"): (
        *("Yes, proceed (y)", "No, and tell Codex what to do differently (esc)"),
        *("y", "escape"),
    ),
    ("gemini", "permission-above-the-box"): (
        *("Allow once", "No, suggest changes (esc)", "1", "escape"),
    ),
    ("gemini", "permission-edit"): ("Allow once", "No, suggest changes (esc)", "1", "escape"),
    ("gemini", "permission-shell"): ("Allow once", "No, suggest changes (esc)", "1", "escape"),
    ("opencode", "permission-edit"): ("Allow once", "Reject", "enter", "escape"),
    ("opencode", "permission-shell"): ("Allow once", "Reject", "enter", "escape"),
    ("opencode", "wide-permission"): ("Allow once", "Reject", "enter", "escape"),
    # It asks back: whichever it was, one cancels.
    ("opencode", "permission-always"): ("Confirm", "Cancel", "escape", "escape"),
}


def dialog_of(agent: str, name: str) -> Dialog:
    """Read a recorded dialog, with what it offers."""
    dialect, folder = AGENTS[agent]
    screen = read_styled((RECORDINGS / folder / f"{name}.txt").read_text())
    dialog = dialect.read_screen(screen).dialog
    assert dialog
    return dialog if dialog.options else replace(dialog, options=keys.options(screen.lines))


def permissions(agent: str) -> set[str]:
    """Name the recordings in which it asks for something, but for those of its start."""
    dialect, folder = AGENTS[agent]
    screens = {
        file.stem: dialect.read_screen(read_styled(file.read_text())).dialog
        for file in (RECORDINGS / folder).glob("*.txt")
        if not file.stem.startswith("start-")
    }
    return {name for name, dialog in screens.items() if dialog and dialog.kind == "permission"}


def test_every_recorded_permission_is_looked_at() -> None:
    found = {(agent, name) for agent in AGENTS for name in permissions(agent)}

    assert found == set(OFFERED)


@pytest.mark.spec("D2")
@pytest.mark.parametrize(("dialog", "offered"), OFFERED.items())
def test_a_permission_is_answered_by_the_keys_of_what_it_offers(
    dialog: tuple[str, str], offered: tuple[str, str, str, str]
) -> None:
    agent, name = dialog
    shown = dialog_of(agent, name)

    first, last, yes, no = offered
    assert (shown.options[0], shown.options[-1]) == (first, last)
    assert keys.keys_for(agent, shown, YES) == (yes,)
    assert keys.keys_for(agent, shown, NO) == (no,)


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("claude", ()),
        ("claude", ("Yes, and always allow", "No, never mind")),
        ("codex", ("Yes, proceed", "No (esc)")),
        ("gemini", ("Allow for this session", "Modify with external editor")),
        ("opencode", ("Allow always", "Allow once")),
        ("shell", ("Yes", "No")),
    ],
)
def test_what_does_not_read_as_expected_is_not_answered(
    agent: str, options: tuple[str, ...]
) -> None:
    shown = Dialog("permission", "Do you want to proceed?", options)

    assert keys.keys_for(agent, shown, YES) == ()
    assert agent == "claude" or keys.keys_for(agent, shown, NO) == ()


@pytest.mark.spec("D3")
@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.ANSWERED, Outcome.OPEN])
def test_only_yes_and_no_are_keys(outcome: Outcome) -> None:
    shown = dialog_of("gemini", "permission-shell")

    assert keys.keys_for("gemini", shown, Verdict(outcome, "person")) == ()


@pytest.mark.spec("D3")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_question_takes_no_keys_for_yes(agent: str) -> None:
    asked = Dialog("question", "Which?", ("Yes", "No"))

    assert keys.keys_for(agent, asked, YES) == ()


@pytest.mark.spec("D2")
def test_a_refusal_that_opencode_asks_back_about_is_confirmed_unless_somebody_writes() -> None:
    back = Dialog("permission", "Reject permission Tell OpenCode what to do differently")
    written = replace(back, text=f"{back.text} Please do not")

    assert keys.keys_for("opencode", back, NO) == ("enter",)
    assert keys.keys_for("opencode", back, YES) == ("escape",)
    assert keys.keys_for("opencode", written, NO) == ()


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["❯ 1. Yes", "  2. No"], ("Yes", "No")),
        (["│ ● 1. Allow once     │", "│   2. No (esc)       │"], ("Allow once", "No (esc)")),
        (["1. first", "2. second", "text", "› 1. Yes", "  2. No"], ("Yes", "No")),
        (["1. Yes", "3. No"], ()),
        (["2. No"], ()),
        (["  ┃  1. Red", "  ┃     warm", "  ┃  2. Blue"], ("Red", "Blue")),
        ([], ()),
    ],
)
def test_numbered_answers_are_read_in_their_order(
    lines: list[str], options: tuple[str, ...]
) -> None:
    assert keys.options(lines) == options


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("agent", "name", "given", "is_about"),
    [
        ("claude", "permission-bash", {"command": "touch made"}, True),
        ("claude", "permission-bash", {"command": "touch"}, True),
        ("claude", "permission-bash", {"command": "touch mad"}, False),
        ("claude", "permission-edit", {"file_path": "/code/project/foo.txt"}, True),
        ("codex", "permission", {"command": "touch made"}, True),
        ("codex", "permission", {"command": "rm -r made"}, False),
        ("gemini", "permission-shell", {"command": "touch  made"}, True),
        ("gemini", "permission-edit", {"file_path": "foo.txt", "content": "x"}, True),
        ("gemini", "permission-edit", {"file_path": "bar.txt"}, False),
        ("opencode", "permission-shell", {"command": "touch made"}, True),
        ("opencode", "permission-edit", {"filePath": "/code/foo.txt"}, True),
        ("opencode", "permission-shell", {}, False),
        ("opencode", "permission-shell", {"command": 5}, False),
    ],
)
def test_a_dialog_is_about_a_call_if_it_shows_what_that_does(
    agent: str, name: str, given: dict[str, object], *, is_about: bool
) -> None:
    assert keys.is_about(dialog_of(agent, name), Call("tool", given)) is is_about


def test_a_long_command_is_known_again_wherever_it_is_broken() -> None:
    command = "curl https://example.org/" + "x" * 80
    shown = Dialog("permission", f"? Shell {command[:60]} {command[60:]} Allow?")

    assert keys.is_about(shown, Call("tool", {"command": command}))
