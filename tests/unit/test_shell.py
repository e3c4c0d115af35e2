from __future__ import annotations

from pathlib import Path

import pytest

from rookery.agents.shell import Shell, answer
from rookery.model.errors import HookUnreadable
from rookery.model.facts import SessionId
from rookery.model.sessions import NativeId
from rookery.ports import Order


@pytest.mark.spec("F3")
@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [
        (["$ ls", "a", "b", "$"], "ls", "a\nb"),
        (["$ ls  ", "a  ", "$  "], "ls", "a"),
        (["$ true", "$"], "true", ""),
        (["$ true"], "true", ""),
        (["old", "$ ls", "a", "$"], "ls", "a"),
        (["> one", "> two", "both", ">"], "one\ntwo", "both"),
        (["$ echo $", "$", "$"], "echo $", "$"),
        (["typed", "said"], "typed", "said"),
        (["typed", "", ""], "typed", ""),
        (["$ echo hi", "hi", "", "bye", "$"], "echo hi\n", "hi\n\nbye"),
    ],
)
def test_the_answer_is_what_was_printed_after_the_words(
    lines: list[str], words: str, said: str
) -> None:
    assert answer(lines, words).strip() == said


def test_where_the_words_cannot_be_found_all_that_was_printed_is_the_answer() -> None:
    assert answer(["Password:", "Welcome."], "secret") == "Password:\nWelcome."


def test_words_that_the_program_repeats_do_not_end_its_answer_early() -> None:
    assert answer(["$ echo ls", "ls", "$"], "echo ls") == "ls"
    assert answer(["$ cat", "one", "cat", "$"], "cat") == "one\ncat"


def test_a_shell_runs_what_it_was_told_and_nothing_is_added() -> None:
    order = Order(("/bin/sh", "-c", "x"), NativeId(""), "", "", "hook", Path("/s"))

    line = Shell().command_line(order)

    assert (line.argv, line.files) == (("/bin/sh", "-c", "x"), {})


def test_a_shell_has_no_hooks_and_its_screen_cannot_be_read() -> None:
    shell = Shell()

    with pytest.raises(HookUnreadable):
        shell.identify({"session_id": "n1"})
    assert list(shell.read_hook({}, SessionId("s"))) == []
    assert not shell.has_box
    assert not shell.holds("ls", "ls")
    assert shell.why_not("!rm") == ""
