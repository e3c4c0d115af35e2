from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rookery.agents.shared import choices, dialog_subjects
from rookery.model.permissions import DIALOG, PLAN, Call, Outcome, Question, Verdict
from rookery.model.screens import Dialog, Press, read_styled
from tests.support.dialects import keys_of, screen_of
from tests.support.paths import RECORDINGS

#: The folder of each agent's recordings.
FOLDERS = {
    "claude": "claude-2.1.325",
    "codex": "codex-0.166.0",
    "gemini": "gemini-0.61.0",
    "opencode": "opencode-1.18.33",
}

YES = Verdict(Outcome.ALLOWED, "person")
NO = Verdict(Outcome.DENIED, "person")
WHY_NOT = Verdict(Outcome.DENIED, "person", "not on a\nSunday")
CALL = Call("tool", {})
PLANNED = Call("ExitPlanMode", {"plan": "# The plan"})
COLOUR = Question("Which colour?", ("Red", "Blue"))
TESTS = Question("Which tests?", ("unit", "e2e"), takes_several=True)


def press(*named: str, is_last: bool = True) -> Press:
    return Press(named, is_last=is_last)


def chose(**answers: tuple[str, ...]) -> Verdict:
    given = {
        {"colour": COLOUR.text, "tests": TESTS.text}[name]: a for name, a in answers.items()
    }
    return Verdict(Outcome.ANSWERED, "person", answers=given)


#: What each recorded permission offers, and the keys for yes and no.
OFFERED = {
    ("claude", "permission-bash"): ("Yes", "No", "1", "escape"),
    ("claude", "permission-edit"): ("Yes", "No", "1", "escape"),
    ("claude", "permission-lines"): ("Yes", "No", "1", "escape"),
    ("claude", "permission-read"): ("Yes", "No", "1", "escape"),
    ("claude", "permission-fetch"): (
        *("Yes", "No, and tell Claude what to do differently (esc)", "1", "escape"),
    ),
    ("claude", "permission-refusing"): (
        *("Yes", "No, and tell Claude what to do differently", "1", "escape"),
    ),
    ("claude", "permission-refused"): ("Yes", "No, not on a Sunday", "1", "escape"),
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


#: How Claude asks whether it may carry out a plan.
PLANS = ("plan", "plan-change", "plan-changed", "plan-short")


def dialog_of(agent: str, name: str) -> Dialog:
    """Read a recorded dialog, with what it offers."""
    screen = read_styled((RECORDINGS / FOLDERS[agent] / f"{name}.txt").read_text())
    dialog = screen_of(agent).read(screen).dialog
    assert dialog
    return dialog if dialog.options else replace(dialog, options=options_of(screen.lines))


def options_of(lines: Sequence[str]) -> tuple[str, ...]:
    """Read the numbered options of a dialog."""
    found = choices.read(lines)
    return found.options if found.is_numbered else ()


def keys_for(agent: str, dialog: Dialog, call: Call, verdict: Verdict) -> Press | None:
    return keys_of(agent).keys_for(dialog, call, verdict)


def permissions(agent: str) -> set[str]:
    """Name the recordings in which it asks for something, but for those of its start."""
    screens = {
        file.stem: screen_of(agent).read(read_styled(file.read_text())).dialog
        for file in (RECORDINGS / FOLDERS[agent]).glob("*.txt")
        if not file.stem.startswith("start-")
    }
    return {name for name, dialog in screens.items() if dialog and dialog.kind == "permission"}


def test_every_recorded_permission_is_looked_at() -> None:
    found = {(agent, name) for agent in FOLDERS for name in permissions(agent)}

    assert found == {*OFFERED, *(("claude", name) for name in PLANS)}


@pytest.mark.spec("D2")
@pytest.mark.parametrize(("dialog", "offered"), OFFERED.items())
def test_a_permission_is_answered_by_the_keys_of_what_it_offers(
    dialog: tuple[str, str], offered: tuple[str, str, str, str]
) -> None:
    agent, name = dialog
    shown = dialog_of(agent, name)

    first, last, yes, no = offered
    assert (shown.options[0], shown.options[-1]) == (first, last)
    assert keys_for(agent, shown, CALL, YES) == press(yes)
    assert keys_for(agent, shown, CALL, NO) == press(no)


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("claude", ()),
        ("claude", ("Yes, and always allow", "No, never mind")),
        ("codex", ("Yes, proceed", "No (esc)")),
        ("gemini", ("Allow for this session", "Modify with external editor")),
        ("opencode", ("Allow always", "Allow once")),
    ],
)
def test_what_does_not_read_as_expected_is_not_answered(
    agent: str, options: tuple[str, ...]
) -> None:
    shown = Dialog("permission", "Do you want to proceed?", options)

    assert keys_for(agent, shown, CALL, YES) is None
    assert agent == "claude" or keys_for(agent, shown, CALL, NO) is None


@pytest.mark.spec("D3")
@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.ANSWERED, Outcome.OPEN])
def test_only_yes_and_no_are_keys(outcome: Outcome) -> None:
    shown = dialog_of("gemini", "permission-shell")

    assert keys_for("gemini", shown, CALL, Verdict(outcome, "person")) is None


@pytest.mark.spec("D3")
@pytest.mark.parametrize("agent", FOLDERS)
def test_a_question_takes_no_keys_for_yes(agent: str) -> None:
    asked = Dialog("question", "Which?", ("Yes", "No"))

    assert keys_for(agent, asked, CALL, YES) is None


@pytest.mark.spec("D2")
def test_a_refusal_that_opencode_asks_back_about_is_confirmed_unless_somebody_writes() -> None:
    back = Dialog("permission", "Reject permission Tell OpenCode what to do differently")
    written = replace(back, text=f"{back.text} Please do not")

    assert keys_for("opencode", back, CALL, NO) == press("enter")
    assert keys_for("opencode", back, CALL, YES) == press("escape")
    assert keys_for("opencode", written, CALL, NO) is None


@pytest.mark.spec("D2")
def test_a_dialog_says_whether_it_asks_back() -> None:
    asked = {name: dialog_of("opencode", name) for name in permissions("opencode")}

    assert {name for name, each in asked.items() if each.is_confirmation} == {
        "permission-always"
    }


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
    assert options_of(lines) == options


@pytest.mark.spec("D2", "D3")
@pytest.mark.parametrize(
    ("agent", "name", "given", "is_about"),
    [
        ("claude", "permission-bash", {"command": "touch made"}, True),
        ("claude", "permission-bash", {"command": "touch"}, False),
        ("claude", "permission-bash", {"command": "touch mad"}, False),
        ("claude", "permission-lines", {"command": "echo one\necho two && touch made"}, True),
        ("claude", "permission-lines", {"command": "echo one"}, False),
        ("claude", "permission-lines", {"command": "echo two && touch made"}, False),
        ("claude", "permission-edit", {"file_path": "/code/project/foo.txt"}, True),
        ("claude", "permission-edit", {"file_path": "/code/project/afoo.txt"}, False),
        ("claude", "permission-read", {"file_path": "/etc/shadow"}, True),
        ("claude", "permission-read", {"file_path": "/home/etc/passwd"}, False),
        ("claude", "permission-fetch", {"url": "https://example.org/a"}, True),
        ("claude", "permission-fetch", {"url": "https://example.org/"}, False),
        ("claude", "permission-fetch", {"command": "x"}, False),
        ("codex", "permission", {"command": "touch made"}, True),
        ("codex", "permission", {"command": "touch"}, False),
        ("codex", "permission", {"command": "rm -r made"}, False),
        ("gemini", "permission-shell", {"command": "touch  made"}, True),
        ("gemini", "permission-shell", {"command": "touch"}, False),
        ("gemini", "permission-above-the-box", {"command": "touch made"}, True),
        ("gemini", "permission-edit", {"file_path": "foo.txt", "content": "x"}, True),
        ("gemini", "permission-edit", {"file_path": "bar.txt"}, False),
        ("opencode", "permission-shell", {"command": "touch made"}, True),
        ("opencode", "permission-shell", {"command": "made"}, False),
        ("opencode", "permission-edit", {"filePath": "/code/project/foo.txt"}, True),
        ("opencode", "wide-permission", {"command": "sleep 4"}, True),
        ("opencode", "permission-shell", {}, False),
        ("opencode", "permission-shell", {"command": 5}, False),
    ],
)
def test_a_dialog_is_about_a_call_if_it_shows_the_whole_of_it(
    agent: str, name: str, given: dict[str, object], *, is_about: bool
) -> None:
    call = Call("tool", given, folder="/code/project")

    assert dialog_subjects.is_about(dialog_of(agent, name), call) is is_about


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize(
    ("shown", "path", "is_about"),
    [
        ("foo.txt", "/p/q/foo.txt", True),
        ("sub/foo.txt", "/p/q/sub/foo.txt", True),
        ("/p/q/foo.txt", "/p/q/foo.txt", True),
        ("../foo.txt", "/p/foo.txt", True),
        ("../../etc/a\nfoo.txt", "/etc/afoo.txt", True),
        ("~/foo.txt", "/home/anna/foo.txt", True),
        ("foo.txt", "foo.txt", True),
        ("foo.txt", "/p/q/sub/foo.txt", False),
        ("other/foo.txt", "/p/q/sub/foo.txt", False),
        ("../foo.txt", "/p/q/foo.txt", False),
        ("/etc/foo.txt", "/p/q/etc/foo.txt", False),
        ("~/foo.txt", "/p/q/foo.txt", False),
        ("~/foo.txt", "/home/bob/foo.txt", False),
        ("foo.txt", "/other/foo.txt", False),
        ("", "/p/q", False),
    ],
)
def test_a_dialog_for_a_file_fits_only_a_call_for_that_very_file(
    monkeypatch: pytest.MonkeyPatch, shown: str, path: str, *, is_about: bool
) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    dialog = Dialog("permission", "?", subjects=(shown,))
    call = Call("Write", {"file_path": path}, folder="/p/q")

    assert dialog_subjects.is_about(dialog, call) is is_about


def test_a_long_command_is_known_again_wherever_it_is_broken() -> None:
    command = "curl https://example.org/" + "x" * 80
    shown = Dialog("permission", "?", subjects=(f"{command[:60]}\n{command[60:]}",))

    assert dialog_subjects.is_about(shown, Call("tool", {"command": command}))


USE_SKILL = f"""\
{"─" * 80}
 Use skill "one"?
 Claude may use instructions, code, or files from this Skill.

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for one in /p
   3. No

 Esc to cancel · Tab to amend
"""


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("call", "is_about"),
    [
        (Call("Skill", {"skill": "one", "args": "a b"}), True),
        (Call("Skill", {"skill": "two"}), False),
        (Call("mcp__docs__load", {"skill": "one"}), False),
        (Call("Bash", {"command": "skill one"}), False),
        (Call("Bash", {"command": 'Use skill "one"?'}), False),
    ],
)
def test_a_dialog_about_a_skill_fits_only_a_call_of_that_skill(
    call: Call, *, is_about: bool
) -> None:
    dialog = screen_of("claude").read(read_styled(USE_SKILL)).dialog

    assert dialog
    assert dialog_subjects.is_about(dialog, call) is is_about


def test_a_tool_of_a_server_is_known_by_its_name() -> None:
    shown = Dialog("permission", "?", subjects=("docs - find_pages(query: x) (MCP)",))

    assert dialog_subjects.is_about(shown, Call("mcp__docs__find_pages", {}))
    assert not dialog_subjects.is_about(shown, Call("mcp__docs__find", {}))


@pytest.mark.spec("D2", "D5")
@pytest.mark.parametrize(
    ("name", "verdict", "step"),
    [
        ("plan", YES, press("2")),
        ("plan-short", YES, press("1")),
        ("plan", NO, press("escape")),
        ("plan-short", NO, press("escape")),
        ("plan", Verdict(Outcome.DENIED, "p", "use other words"), press("down", is_last=False)),
        (
            "plan-change",
            Verdict(Outcome.DENIED, "p", "use other\nwords"),
            Press(words="use other words", is_last=False),
        ),
        ("plan-changed", Verdict(Outcome.DENIED, "p", "use other words"), press("enter")),
        ("plan-changed", Verdict(Outcome.DENIED, "p", "something else"), None),
    ],
)
def test_a_plan_is_approved_without_freer_hands_or_sent_back_with_a_reason(
    name: str, verdict: Verdict, step: Press | None
) -> None:
    shown = dialog_of("claude", name)

    assert dialog_subjects.is_about(shown, PLANNED)
    assert keys_for("claude", shown, PLANNED, verdict) == step


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("permission-lines", press("down", is_last=False)),
        ("permission-refusing", Press(words="not on a Sunday", is_last=False)),
        ("permission-refused", press("enter")),
    ],
)
def test_a_reason_is_typed_where_claude_takes_one(name: str, step: Press) -> None:
    assert keys_for("claude", dialog_of("claude", name), CALL, WHY_NOT) == step


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("agent", "name", "verdict", "step"),
    [
        (
            "claude",
            "questions",
            chose(colour=("Blue",), tests=("e2e",)),
            press("2", is_last=False),
        ),
        (
            "claude",
            "questions-ticks",
            chose(colour=("Blue",), tests=("e2e",)),
            press("2", is_last=False),
        ),
        (
            "claude",
            "questions-ticked",
            chose(colour=("Blue",), tests=("e2e",)),
            press("1", is_last=False),
        ),
        (
            "claude",
            "questions-ticked",
            chose(colour=("Blue",), tests=("unit",)),
            press("right", is_last=False),
        ),
        ("claude", "questions-review", chose(colour=("Blue",), tests=("unit",)), press("1")),
        ("claude", "questions-review", chose(colour=("Red",), tests=("unit",)), None),
        ("claude", "questions", chose(tests=("unit",)), None),
    ],
)
def test_several_questions_are_answered_one_after_the_other(
    agent: str, name: str, verdict: Verdict, step: Press | None
) -> None:
    call, shown = Call("AskUserQuestion", {}, (COLOUR, TESTS)), dialog_of(agent, name)

    assert dialog_subjects.is_about(shown, call)
    assert keys_for(agent, shown, call, verdict) == step


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("agent", "name", "answer", "step"),
    [
        ("claude", "question", "Blue", press("2")),
        ("claude", "question", "green", press("3", is_last=False)),
        ("claude", "question-free", "my own words", Press(words="my own words", is_last=False)),
        ("claude", "question-typed", "my own words", press("enter")),
        ("claude", "question-typed", "other words", None),
        ("gemini", "question", "Red", press("1")),
        ("opencode", "question", "Blue", press("2")),
    ],
)
def test_a_question_is_answered_by_the_key_of_its_option_or_by_words(
    agent: str, name: str, answer: str, step: Press | None
) -> None:
    call, shown = Call("AskUserQuestion", {}, (COLOUR,)), dialog_of(agent, name)

    assert dialog_subjects.is_about(shown, call)
    assert not dialog_subjects.is_about(
        shown, Call("AskUserQuestion", {}, (Question("Which?"),))
    )
    assert keys_for(agent, shown, call, chose(colour=(answer,))) == step


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("agent", "name", "answer", "step"),
    [
        ("claude", "start-trust", "No, exit", press("enter")),
        ("claude", "start-trust", "Yes, I trust this folder", press("down", is_last=False)),
        ("claude", "start-api-key", "Yes", press("up", is_last=False)),
        ("claude", "start-auto-mode", "No, keep manual mode", press("down", is_last=False)),
        ("codex", "start-trust", "Trust and continue", press("enter")),
        ("codex", "start-model-offer", "Use existing model", press("down", is_last=False)),
        ("gemini", "start-trust", "Don't trust", press("3")),
        ("gemini", "start-trust", "Trust", None),
    ],
)
def test_a_dialog_that_only_the_screen_tells_of_is_answered_by_its_options(
    agent: str, name: str, answer: str, step: Press | None
) -> None:
    shown = dialog_of(agent, name)
    asked = Call(DIALOG, {"text": shown.text, "options": list(shown.options)})
    verdict = Verdict(Outcome.ANSWERED, "person", answers={shown.text: (answer,)})

    assert dialog_subjects.is_about(shown, asked)
    assert not dialog_subjects.is_about(replace(shown, text="another"), asked)
    assert keys_for(agent, shown, asked, verdict) == step


def test_gemini_takes_no_keys_while_it_starts_itself_again() -> None:
    text = (RECORDINGS / FOLDERS["gemini"] / "start-trust.txt").read_text().rstrip()
    again = f"{text}\n Gemini CLI is restarting to apply the trust changes...\n"

    assert screen_of("gemini").read(read_styled(again)).dialog is None


@pytest.mark.spec("D2")
@pytest.mark.parametrize(("given", "carries"), [({"plan": "1. Do this"}, True), ({}, False)])
def test_a_plan_dialog_without_a_plan_takes_no_reason(
    given: dict[str, str], *, carries: bool
) -> None:
    assert (keys_of("claude").reason_note(Call(PLAN, given)) == "") is carries


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("agent", "said"),
    [("claude", ""), ("opencode", "only if a subagent asked"), ("codex", "did not receive")],
)
def test_a_reason_that_a_dialog_does_not_take_is_said_not_to_arrive(
    agent: str, said: str
) -> None:
    note = keys_of(agent).reason_note(CALL)

    assert (said in note, bool(note)) == (True, bool(said))
