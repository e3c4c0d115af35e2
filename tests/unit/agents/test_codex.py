from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.codex import screen
from rookery.agents.codex.agent import command_line
from rookery.agents.codex.hooks import EVENTS
from rookery.agents.shared.claude_style_hooks import DECISION_TIMEOUT_S
from rookery.agents.shared.dialog_subjects import is_about
from rookery.model.permissions import Call
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.contract.agents.codex import RECORDED

SPEC = LaunchSpec(("codex",), NativeId("n1"), "", "", "hook 'a b'", Path("/s"))


def test_its_command_line_starts_no_daemon_and_names_the_model_and_the_sandbox() -> None:
    plain = command_line(SPEC)
    full = command_line(replace(SPEC, model="gpt-5.5", permission_mode="read-only"))
    again = command_line(replace(SPEC, resumes=True))

    assert plain.argv[:2] == ("codex", "--no-daemon")
    assert full.argv == (*plain.argv, "--model", "gpt-5.5", "--sandbox", "read-only")
    assert again.argv == (*plain.argv, "resume", "n1")
    assert not plain.files


def settings() -> dict[str, Any]:
    """Return what the command line sets, as Codex reads it."""
    words = command_line(SPEC).argv[2:]
    assert set(words[::2]) == {"-c"}
    return tomllib.loads("\n".join(words[1::2]))


def test_its_hooks_of_one_session_tell_us_of_each_event() -> None:
    given = settings()["hooks"]

    assert set(given) == {*EVENTS, "state"}
    for event, (_, timeout) in EVENTS.items():
        ((entry,),) = [each["hooks"] for each in given[event]]
        assert entry == {"type": "command", "command": "hook 'a b'", "timeout": timeout}
        assert timeout <= DECISION_TIMEOUT_S


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

    dialog = screen.read(read_styled("\n".join(lines))).dialog

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

    dialog = screen.read(read_styled("\n".join(lines))).dialog

    assert dialog
    assert dialog.kind == "permission"
    assert "rm -r x" in dialog.subjects[0]


@pytest.mark.spec("B0", "B2")
def test_the_hint_of_a_list_of_completions_counts_above_the_box_only() -> None:
    hint, status = "  enter/tab insert · esc close · ↑/↓ select", "  GPT-5.5 default · /tmp/p"
    words = "say enter/tab insert · esc close"
    drafted = ["• ok", "", f"› {words}", "", status]
    answered = [hint, "", "  Worked for <1s • 07:00", "", "› more", "", status]
    listed = ["  key.txt  ./", "", hint, "", "› read @ke", "", status]

    views = [screen.read(read_styled("\n".join(each))) for each in (drafted, answered, listed)]

    assert [view.box for view in views] == [words, "more", None]
    assert [bool(view.dialog) for view in views] == [False, False, True]


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

    assert screen.read(read_styled("\n".join(lines))) == View(draft, instead=instead)


#: A dialog about a patch as Codex 0.166.0 draws it: one line for each file, wrapped if long.
EDITS = """\
• Edited 2 files (+2 -0)
    + Show details


  Would you like to make the following edits?

  Description: Apply proposed file edits
  Destination: /p/notes.md
  Destination:
  /p/long/folder/rea
  dme.md


› 1. Yes, proceed (y)
  2. Yes, and don't ask again for these files (a)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel"""


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize(
    ("files", "is_about_it"),
    [
        (["notes.md", "/p/long/folder/readme.md"], True),
        (["/p/notes.md"], False),
        (["/p/notes.md", "/p/long/folder/readme.md", "/p/third.md"], False),
        (["/q/notes.md", "/p/long/folder/readme.md"], False),
        ([], False),
    ],
)
def test_a_dialog_about_a_patch_is_known_by_all_files_that_it_names(
    files: list[str], *, is_about_it: bool
) -> None:
    dialog = screen.read(read_styled(EDITS)).dialog
    added = [f"*** Add File: {each}\n+x" for each in files]
    patch = "\n".join(["*** Begin Patch", *added, "*** End Patch"])
    call = Call("apply_patch", {"command": patch}, folder="/p")

    assert dialog
    assert dialog.kind == "permission"
    assert is_about(dialog, call) is is_about_it


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    "said", ["  Stop it (esc to interrupt)", "• Press it (esc to interrupt)"]
)
def test_an_answer_about_the_key_of_interruptions_is_no_work(said: str) -> None:
    lines = list(RECORDED.screen("working").lines)
    row = next(row for row, line in enumerate(lines) if "esc to interrupt)" in line)
    lines[row] = said

    assert not screen.read(read_styled("\n".join(lines))).is_working
