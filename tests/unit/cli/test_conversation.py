"""A conversation is printed once, with its tool calls between prompt and answer."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.cli.conversation import ConversationPrinter
from rookery.client.decoding import read
from rookery.client.turns import TurnsInfo
from rookery.model.messages import EXPIRY
from rookery.presentation.tool_lines import tool_line
from tests.support.cli import Scripted, made, typed

pytestmark = pytest.mark.spec("I5")


def turn(number: int, answer: str = "", how: str = "finished") -> dict[str, Any]:
    ended = {"answer": answer, "how": how, "ended_at": f"2026-11-18T12:00:{number:02}+00:00"}
    return {"number": number, "prompt": f"Task {number}", **(ended if answer else {})}


def call(number: int, of_turn: int, argument: str) -> dict[str, Any]:
    return {"number": number, "turn": of_turn, "tool": "Bash", "argument": argument}


def talk(*turns: dict[str, Any], tools: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    session = made("api", continues=None)
    return {"session": session, "turns": [*turns], "tools": [*tools], "unheard": [], "count": 9}


def test_only_what_is_new_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    printer = ConversationPrinter()
    calls = call(2, 1, "make"), call(3, 1, "make test"), call(6, 5, "ls")

    for conversation in (
        talk(turn(1), tools=calls[:1]),
        talk(turn(1), tools=calls[:2]),
        talk(turn(1, "Built."), turn(5), tools=calls),
        talk(turn(1, "Built."), turn(5, "Listed."), tools=calls),
    ):
        printer.show(read(TurnsInfo, conversation))

    assert capsys.readouterr().out.splitlines() == [
        *("❯ Task 1", "🔧 Bash — make", "🔧 Bash — make test", "Built.", ""),
        *("❯ Task 5", "🔧 Bash — ls", "Listed.", ""),
    ]


@pytest.mark.parametrize(
    ("by", "rule", "said"),
    [
        ("person", "", "denied by you"),
        ("rule", "no-force", "denied by the rule no-force"),
        ("terminal", "", "denied in its terminal"),
        ("session 7", "", "denied by session 7"),
    ],
)
def test_a_denied_call_does_not_look_like_one_that_ran(
    capsys: pytest.CaptureFixture[str], by: str, rule: str, said: str
) -> None:
    denied = {**call(2, 1, "rm -rf /"), "denied_by": by, "rule": rule}

    ConversationPrinter().show(read(TurnsInfo, talk(turn(1), tools=(denied,))))

    assert capsys.readouterr().out == f"❯ Task 1\n✗ Bash — rm -rf /  ({said})\n"


def test_a_call_that_is_denied_later_is_printed_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printer, asked = ConversationPrinter(), call(2, 1, "rm -rf /")
    denied = {**asked, "denied_by": "person"}

    for now in (asked, denied, denied):
        printer.show(read(TurnsInfo, talk(turn(1), tools=(now,))))

    assert capsys.readouterr().out.splitlines() == [
        *("❯ Task 1", "🔧 Bash — rm -rf /", "✗ Bash — rm -rf /  (denied by you)"),
    ]


@pytest.mark.parametrize("command", ["output", "logs"])
@pytest.mark.parametrize(
    ("answer", "how", "said"),
    [
        ("", "interrupted", "(interrupted; there is no answer)\n"),
        ("So far", "interrupted", "So far\n(interrupted; the answer is not complete)\n"),
        ("API error", "failed", "API error\n(failed)\n"),
        ("Done", "finished", "Done\n"),
        ("", "finished", "(there is no answer)\n"),
    ],
)
def test_a_turn_without_a_whole_answer_says_why(  # noqa: PLR0913, PLR0917 - a table
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    answer: str,
    how: str,
    said: str,
) -> None:
    found = talk(
        {**turn(1), "ended_at": "2026-11-18T12:00:00+00:00", "answer": answer, "how": how}
    )

    typed(monkeypatch, Scripted(sessions=found), command, "api")

    assert capsys.readouterr().out == f"❯ Task 1\n{said}\n"


@pytest.mark.parametrize(
    ("argument", "cells"), [("word " * 100, 80), ("/path" * 100, 60), ("short", 5)]
)
def test_long_arguments_are_shortened_unless_all_is_wanted(argument: str, cells: int) -> None:
    start = len("🔧 Bash — ")

    assert len(tool_line("Bash", argument)) <= start + cells
    assert tool_line("Bash", argument, is_full=True) == f"🔧 Bash — {argument.strip()}"


@pytest.mark.spec("K2")
def test_a_tool_call_cannot_control_the_terminal() -> None:
    line = tool_line("Ba\x1b[2Jsh", "rm \x1b]0;x\x07\nforged\x9b31m")

    assert not set(line) & set("\x1b\x07\x9b\n\r")


def test_output_has_tool_calls_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = talk(turn(1, "Built."), tools=(call(2, 1, "make"),))
    with_tools, without = Scripted(sessions=told), Scripted(sessions=talk(turn(1, "Built.")))

    typed(monkeypatch, with_tools, "output", "api", "--tools", "--last", "1")
    shown = capsys.readouterr().out
    typed(monkeypatch, without, "output", "api")

    assert "🔧 Bash — make" in shown
    assert "🔧" not in capsys.readouterr().out
    assert with_tools.asked == [(("sessions", "api", "turns"), {"last": 1, "tools": True})]
    assert "tools" not in without.asked[0][1]


def test_lines_of_the_daemons_log_are_no_turns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, Scripted(), "logs", "api", "-n", "3") == 2
    assert "--last" in capsys.readouterr().err


@pytest.mark.parametrize(("terminal", "marks"), [(True, 1), (False, 0)])
def test_only_a_terminal_reports_what_was_seen(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, marks: int
) -> None:
    client = Scripted(sessions=talk(turn(1, "Built."), turn(5, "Listed.")))
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)

    typed(monkeypatch, client, "output", "api")

    seen = [given for path, given in client.asked if path[-1] == "seen"]
    assert seen == [{"until": "2026-11-18T12:00:05+00:00"}] * marks


def test_the_last_turns_of_a_whole_conversation_may_be_of_earlier_sessions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = {**talk(turn(1, "One."), turn(2, "Two.")), "session": made("old", continues=None)}
    second = {**talk(turn(1, "Three.")), "session": made("api", continues="old")}

    def asked(*words: str) -> list[object]:
        client = Scripted(sessions=[second, first])
        assert not typed(monkeypatch, client, "output", "api", "--whole", *words)
        return [query["last"] for path, query in client.asked if path[-1] == "turns"]

    assert asked() == [200, 200]
    assert "One." in capsys.readouterr().out
    assert asked("--last", "3") == [3, 2]
    assert asked("--last", "1", "--json") == [1]


@pytest.mark.parametrize(
    ("by", "said"),
    [(EXPIRY, "expired before it could be sent"), ("person", "withdrawn")],
)
def test_an_expired_message_is_told_in_the_words_of_the_inbox(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by: str, said: str
) -> None:
    unheard = {"words": "Ship it", "step": "withdrawn", "withdrawn_by": by}
    client = Scripted(sessions={**talk(turn(1, "Done.")), "unheard": [unheard]})

    assert not typed(monkeypatch, client, "output", "api")

    assert f"❯ Ship it  ({said})" in capsys.readouterr().out


@pytest.mark.spec("K2")
def test_the_error_of_a_call_does_not_control_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = {**call(2, 1, "ls"), "failure": "out\x1b]0;title\x07\x9b2J\u202e\n✓ done"}

    ConversationPrinter().show(read(TurnsInfo, talk(turn(1), tools=(failed,))))

    shown = capsys.readouterr().out
    assert not {*shown} & {*"\x1b\x07\x9b\u202e"}
    assert len(shown.splitlines()) == 2


def test_a_call_that_failed_does_not_look_like_one_that_succeeded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printer, ran = ConversationPrinter(), call(2, 1, "ls /x")
    failed = {**ran, "failure": "Exit code 2 ↵ ls: cannot access '/x'"}

    for now in (ran, failed, failed):
        printer.show(read(TurnsInfo, talk(turn(1), tools=(now,))))

    assert capsys.readouterr().out.splitlines() == [
        *("❯ Task 1", "🔧 Bash — ls /x"),
        "✗ Bash — ls /x  (failed: Exit code 2 ↵ ls: cannot access '/x')",
    ]


#: A program's screen as the daemon sends it.
SCREEN = {"lines": ["Welcome", "❯"]}


@pytest.mark.parametrize("command", ["output", "logs"])
def test_an_agent_without_a_turn_says_so_and_names_the_command_for_its_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    typed(monkeypatch, Scripted(sessions=[talk(), SCREEN]), command, "api")

    assert capsys.readouterr().out == "api has no turn yet. Its screen:  rookery screen api\n"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"agent": "shell"}, "api has no turn. Its screen:\n"),
        (
            {"status": "completed", "ended_at": "2026-11-18T12:00:00+00:00"},
            "api has no turn. Its last screen:\n",
        ),
    ],
)
def test_the_screen_of_a_shell_or_of_an_ended_agent_is_shown_under_a_title(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    known: dict[str, str],
    said: str,
) -> None:
    without = {**talk(), "session": made("api", **known)}

    typed(monkeypatch, Scripted(sessions=[without, SCREEN]), "output", "api")

    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("Welcome\n❯\n", said)


@pytest.mark.parametrize(
    ("is_full", "shown"), [(False, "./src/notes.txt"), (True, "/repo/src/notes.txt")]
)
def test_a_file_of_a_session_is_named_relative_to_its_folder(
    capsys: pytest.CaptureFixture[str], *, is_full: bool, shown: str
) -> None:
    told = talk(turn(1), tools=(call(2, 1, "/repo/src/notes.txt"),))

    ConversationPrinter(is_full=is_full).show(read(TurnsInfo, told))

    assert capsys.readouterr().out == f"❯ Task 1\n🔧 Bash — {shown}\n"


def test_a_path_that_is_shortened_keeps_the_name_of_the_file() -> None:
    assert tool_line("Write", f"/folder{'/long' * 20}/notes.txt").endswith("/long/notes.txt")
