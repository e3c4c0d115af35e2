"""Dialogs that do not fit their screens, as the real programs draw them, and the demo agent."""

from __future__ import annotations

import pytest

from rookery.agents.subjects import is_about
from rookery.daemon import AGENTS
from rookery.model.permissions import Call, Outcome, Verdict
from rookery.model.screens import Screen

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

    dialog = AGENTS[agent].read_screen(Screen(lines, lines)).dialog

    assert dialog is not None
    assert (dialog.kind, dialog.is_cut) == ("permission", True)
    assert is_about(dialog, CALL)
    keys = [
        AGENTS[agent].keys_for(dialog, CALL, Verdict(outcome, "anna"))
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

    dialog = AGENTS[agent].read_screen(Screen(lines, lines)).dialog

    assert dialog is not None
    assert not is_about(dialog, Call("Bash", {"command": "rm -rf build"}))
