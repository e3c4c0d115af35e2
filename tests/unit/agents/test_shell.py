from __future__ import annotations

import re
from pathlib import Path

import pytest

from rookery.agents.shell import MAX_ANSWER_BYTES, SHELL, answer
from rookery.model.messages import folded
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from rookery.ports.terminal import Printed


def said(lines: list[str], words: str, rest: str = "$", *, is_whole: bool = True) -> str:
    return answer(Printed(tuple(lines), rest, is_whole=is_whole), words)


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("lines", "words", "rest", "expected"),
    [
        (["$ ls", "a", "b", "$"], "ls", "$", "a\nb"),
        (["$ ls  ", "a  ", "$  "], "ls", "$", "a"),
        (["$ true", "$"], "true", "$", ""),
        (["$ true"], "true", "$", ""),
        (["", "", "$ ls", "a", "$"], "ls", "$", "a"),
        (["> one", "> two", "both", ">"], "one\ntwo", ">", "both"),
        (["$ one", "two", "both", "$"], "one\ntwo", "$", "both"),
        (["$ echo $", "$", "$"], "echo $", "$", "$"),
        (["typed", "said"], "typed", "", "said"),
        (["typed", "", ""], "typed", "", ""),
        (["$ echo hi", "hi", "", "bye", "$"], "echo hi\n", "$", "hi\n\nbye"),
        (["$ echo ls", "ls", "$"], "echo ls", "$", "ls"),
        (["$ cat", "one", "cat", "$"], "cat", "$", "one\ncat"),
        (["hello", "hello"], "hello", "", "hello"),
    ],
)
def test_the_answer_is_what_was_printed_after_the_words(
    lines: list[str], words: str, rest: str, expected: str
) -> None:
    assert said(lines, words, rest) == expected


@pytest.mark.spec("F3")
def test_what_was_printed_before_its_prompt_stood_there_again_is_of_other_words() -> None:
    late = ["echo now2", "late1", "bash-5.2# echo now2", "now2", "bash-5.2#"]

    assert said(late, "echo now2", rest="") == "now2"
    assert said(["late1", "$ echo 'x'", "x", "$"], "echo 'x'", rest="") == "x"
    assert said(["$ echo '$ a'", "$ a", "$"], "echo '$ a'") == "$ a"
    assert said(["a", "b", "I got a", "#"], "a", rest="") == "b\nI got a\n#"


@pytest.mark.spec("F3")
def test_where_the_words_are_not_shown_all_that_was_printed_is_the_answer() -> None:
    assert said(["Password:", "Welcome."], "secret", "Password:") == "Password:\nWelcome."
    assert said(["a", "b", "I got hello", "$"], "hello") == "a\nb\nI got hello"


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    "shown",
    [
        ["$ a long line of words"],
        ["$ a long", "line of", " words"],
        ["$ [bob] (2): a long line of words"],
    ],
)
def test_words_are_known_however_they_were_wrapped_and_folded(shown: list[str]) -> None:
    words = "a long line of words"
    words = f"[bob] (2):\n\n{words}" if "bob" in shown[0] else words

    assert said([*shown, "said", "$"], words) == "said"


@pytest.mark.spec("F3")
def test_words_that_were_cut_are_known_as_they_were_typed() -> None:
    words = "[bob] (2):\n\n" + "word " * 2_000

    assert said([f"$ {folded(words)}", "said", "$"], words) == "said"


@pytest.mark.spec("F3")
def test_words_that_are_shown_late_are_taken_out_and_nothing_with_them() -> None:
    lines = ["a job has ended", "$ ls", "a", "$"]

    assert said(lines, "ls") == "a job has ended\na"


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("rest", "now", "expected"),
    [
        ("$", "$", "a"),
        ("me@here:~$", "me@here:~/src$", "a"),
        ("[3 done, 12:01] >", "[4 done, 12:02] >", "a"),
        ("⠋ idle 3 s", "⠙ idle 12 s", "a"),
        ("before#", "#", "a"),
        ("$", "unfinished$", "a\nunfinished"),
        ("$", "Go on? [y/N]", "a\nGo on? [y/N]"),
        ("Player 1?", "Player 2?", "a\nPlayer 2?"),
        ("idle", "working", "a\nworking"),
        ("", "unfinished", "a\nunfinished"),
    ],
)
def test_the_line_that_a_program_rests_on_is_no_answer_unless_it_asks_something(
    rest: str, now: str, expected: str
) -> None:
    assert said([f"{rest} ls".lstrip(), "a", now], "ls", rest) == expected


@pytest.mark.spec("F3")
def test_words_are_known_behind_a_status_that_was_drawn_anew() -> None:
    assert said(["[idle 4 s] > ls", "a", "[idle 9 s] >"], "ls", "[idle 3 s] >") == "a"


@pytest.mark.spec("F3")
def test_of_what_is_too_long_the_end_is_kept_and_the_cut_is_said() -> None:
    long = said(["$ ls", *("é" * 100 for _ in range(1_000)), "the end", "$"], "ls")

    head, _, kept = long.partition("\n")
    assert len(long.encode()) <= MAX_ANSWER_BYTES
    assert int(re.sub(r"\D", "", head)) + len(kept) == 101 * 1_000 + len("the end")
    assert kept.endswith(f"{'é' * 100}\nthe end")


@pytest.mark.spec("F3")
def test_that_the_beginning_has_scrolled_away_is_said() -> None:
    scrolled = said(["b", "c", "$"], "ls", is_whole=False)

    assert scrolled == "… (the beginning has scrolled away)\nb\nc"


def test_a_shell_runs_what_it_was_told_and_nothing_is_added() -> None:
    spec = LaunchSpec(("/bin/sh", "-c", "x"), NativeId(""), "", "", "hook", Path("/s"))

    line = SHELL.command_line(spec)

    assert (line.argv, line.files) == (("/bin/sh", "-c", "x"), {})


def test_a_shell_has_no_hooks_and_its_screen_cannot_be_read() -> None:
    assert (SHELL.hooks, SHELL.screen, SHELL.transcript, SHELL.settings) == (None,) * 4
    assert SHELL.input.why_not("!rm") == ""
