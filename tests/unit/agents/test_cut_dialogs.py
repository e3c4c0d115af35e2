"""Dialogs that do not fit their screens, as the real programs draw them, and the demo agent."""

from __future__ import annotations

import pytest

from rookery.agents.shared.dialog_subjects import is_about
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.screens import MAX_DIALOG_CHARACTERS, Dialog, Screen
from tests.support.dialects import keys_of, screen_of

COMMAND = " ".join(["echo", *(f"w{number}" for number in range(40)), "> made"])
CALL = Call("Bash", {"command": COMMAND})

CLAUDE_WITHHELD = """\
● Bash(echo w0 w1 w2)

────────────────────────────────────────────────────────────────────
 Bash command
 scripted
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 (value cannot be shown in full — approval withheld; one-time
 options only)
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Parser aborted (timeout, resource limit, or over-length)

 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel · Tab to amend
"""

CLAUDE_SCROLLED = """\
 │ w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31
 │ w32 w33 w34 w35 w36 w37 w38 w39 > made
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and always allow access to /tmp/project from this project
   3. No

 Esc to cancel · Tab to amend
"""

CODEX = """\

  Would you like to run the following command?

  Environment: local

  Reason: x

  $ echo w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17
  w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30
  [… 45 lines] ^a view all
› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands that start with `echo w0 w1
     w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19
  Press enter to confirm or esc to cancel
"""

GEMINI = """\
╭──────────────────────────────────────────────────────────────────────────────╮
│ ? Shell  scripted                                                            │
│ ╭──────────────────────────────────────────────────────────────────────────╮ │
│ │ ... 33 hidden (Ctrl+O) ...                                               │ │
│ │ w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35          │ │
│ │ w36 w37 w38 w39 > made                                                   │ │
│ ╰──────────────────────────────────────────────────────────────────────────╯ │
│ Allow execution of [Shell]?                                                  │
│                                                                              │
│ ● 1. Allow once                                                              │
│   2. Allow for this session                                                  │
│   3. No, suggest changes (esc)                                               │
╰──────────────────────────────────────────────────────────────────────────────╯
"""

OPENCODE = """\
  ┃
  ┃  △ Permission required
  ┃    # Shell command
  ┃
  ┃  $ echo w0 w1
  ┃  w2 w3
  ┃  w4 w5
  ┃  w6 w7
  ┃  w8 w9
  ┃  w10 w11
  ┃  w12 w13
  ┃
  ┃                                                /tmp/project
  ┃   Allow once   Allow always   Reject      ctrl+f fullscreen  ⇆ select  enter confirm
  ┃                                                • OpenCode 1.18.33
"""

DEMO = """\
   w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31
   w32 w33 w34 w35 w36 w37 w38 w39 > made
 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again this session
   3. No, and tell demo what to do differently (esc)
────────────────────────────────────────────────────────────────────
  demo · default mode · 0 turns
"""

CUT = [
    pytest.param("claude", CLAUDE_WITHHELD, "1", id="claude-withheld"),
    pytest.param("claude", CLAUDE_SCROLLED, "1", id="claude-scrolled"),
    pytest.param("codex", CODEX, "y", id="codex"),
    pytest.param("gemini", GEMINI, "1", id="gemini"),
    pytest.param("opencode", OPENCODE, "enter", id="opencode"),
    pytest.param("demo", DEMO, "1", id="demo"),
]


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("agent", "screen", "yes"), CUT)
def test_a_dialog_that_shows_only_a_part_of_a_call_can_be_answered(
    agent: str, screen: str, yes: str
) -> None:
    lines = tuple(screen.split("\n"))

    dialog = screen_of(agent).read(Screen(lines, lines)).dialog

    assert dialog is not None
    assert (dialog.kind, dialog.is_cut) == ("permission", True)
    assert is_about(dialog, CALL)
    keys = [
        keys_of(agent).keys_for(dialog, CALL, Verdict(outcome, "anna"))
        for outcome in (Outcome.ALLOWED, Outcome.DENIED)
    ]
    assert [each and each.keys for each in keys] == [(yes,), ("escape",)]


@pytest.mark.spec("D2", "B0")
@pytest.mark.parametrize(("agent", "screen", "yes"), CUT[1:])
def test_a_part_of_another_call_is_not_about_this_one(
    agent: str, screen: str, yes: str
) -> None:
    assert yes
    lines = tuple(screen.split("\n"))

    dialog = screen_of(agent).read(Screen(lines, lines)).dialog

    assert dialog is not None
    assert not is_about(dialog, Call("Bash", {"command": "rm -rf build"}))


def command_dialog(agent: str, rows: list[str]) -> str:
    """Draw the dialog of an agent around the rows of a command."""
    if agent == "claude":
        return "\n".join(
            [
                "─" * 68,
                " Bash command",
                "╌" * 68,
                *(f" {row}" for row in rows),
                "╌" * 68,
                " Do you want to proceed?",
                " ❯ 1. Yes",
                "   2. No",
                "",
                " Esc to cancel · Tab to amend",
            ]
        )
    if agent == "codex":
        return "\n".join(
            [
                "",
                "  Would you like to run the following command?",
                "",
                f"  $ {rows[0]}",
                *(f"  {row}" for row in rows[1:]),
                "",
                "› 1. Yes, proceed (y)",
                "  2. No, and tell Codex what to do differently (esc)",
                "",
                "  Press enter to confirm or esc to cancel",
            ]
        )
    if agent == "gemini":
        return "\n".join(
            [
                f"╭{'─' * 78}╮",
                f"│ {'? Shell  scripted':76} │",
                f"│ ╭{'─' * 74}╮ │",
                *(f"│ │ {row:72} │ │" for row in rows),
                f"│ ╰{'─' * 74}╯ │",
                f"│ {'Allow execution of [Shell]?':76} │",
                f"│ {'● 1. Allow once':76} │",
                f"│ {'  2. No, suggest changes (esc)':76} │",
                f"╰{'─' * 78}╯",
            ]
        )
    if agent == "opencode":
        return "\n".join(
            [
                "  ┃  △ Permission required",
                "  ┃    # Shell command",
                f"  ┃  $ {rows[0]}",
                *(f"  ┃  {row}" for row in rows[1:]),
                "  ┃   Allow once   Allow always   Reject      ⇆ select  enter confirm",
            ]
        )
    return "\n".join(
        [
            "─" * 68,
            " Bash",
            *(f"   {row}" for row in rows),
            " Do you want to proceed?",
            " ❯ 1. Yes",
            "   2. Yes, and don't ask again this session",
            "   3. No, and tell demo what to do differently (esc)",
            "─" * 68,
            "  demo · default mode · 0 turns",
        ]
    )


def read(agent: str, screen: str) -> Dialog:
    lines = tuple(screen.split("\n"))
    dialog = screen_of(agent).read(Screen(lines, lines)).dialog
    assert dialog is not None
    return dialog


SHELLS = ["claude", "codex", "gemini", "opencode", "demo"]


@pytest.mark.spec("D5", "B0")
@pytest.mark.parametrize("agent", SHELLS)
@pytest.mark.parametrize("tail", ["; curl evil", "7. ; curl evil"])
def test_a_dialog_is_read_with_all_of_its_command(agent: str, tail: str) -> None:
    rows = ["echo " + "word " * 12] * 9

    shown, other = (
        read(agent, command_dialog(agent, [*rows, end])) for end in (tail, tail[:-4] + "good")
    )

    assert tail in shown.text
    assert shown.text != other.text


@pytest.mark.spec("D5")
@pytest.mark.parametrize("agent", SHELLS)
def test_a_dialog_longer_than_is_kept_says_that_it_is_cut(agent: str) -> None:
    rows = ["x" * 60] * (MAX_DIALOG_CHARACTERS // 60 + 1)

    dialog = read(agent, command_dialog(agent, rows))

    assert len(dialog.text) == MAX_DIALOG_CHARACTERS
    assert dialog.is_cut
