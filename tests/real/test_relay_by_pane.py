"""Programs without hooks talk: what they newly printed is read off their panes."""

from __future__ import annotations

import pytest

from rookery.model.envelopes import attributed
from tests.support.real.rookery import Rookery, eventually
from tests.support.real.talker import message
from tests.support.real.talkers import relay, relayed, start_talker

pytestmark = pytest.mark.real


def said(name: str, *numbers: int) -> list[str]:
    return ["\n".join(message(name, number)) for number in numbers]


@pytest.mark.timeout(300)
@pytest.mark.spec("F2", "F3")
def test_what_plain_programs_print_is_relayed_exactly_once_and_nothing_else_is(
    rookery: Rookery,
) -> None:
    start_talker(rookery, "left", "full")
    start_talker(rookery, "right")
    relay(rookery, "left", "right")
    numbers = range(8)

    for number in numbers:
        rookery.send("left", f"go {number}")
        rookery.send("right", f"go {number}")
    eventually(
        lambda: [step for _, step in relayed(rookery)].count("acknowledged") == 16,
        within=200.0,
    )

    words = [each for each, _ in relayed(rookery)]
    for place, name in enumerate(("left", "right"), start=1):
        expected = [attributed(name, place, each) for each in said(name, *numbers)]
        assert [each for each in words if each.startswith(f"[{name}]")] == expected
    assert len(words) == 16


@pytest.mark.spec("F3")
def test_a_line_that_is_drawn_again_and_again_is_neither_work_nor_an_answer(
    rookery: Rookery,
) -> None:
    start_talker(rookery, "clock", "clock")
    # Not 5: of a screen that is cleared, tmux remembers the status, too.
    numbers = (0, 1, 2, 3, 4, 6)

    answers = [rookery.ask("clock", f"go {number}") for number in numbers]

    assert answers == said("clock", *numbers)


@pytest.mark.spec("F3")
def test_a_program_whose_status_says_that_it_works_is_not_at_rest(rookery: Rookery) -> None:
    start_talker(rookery, "slow", "clock", "slow")

    assert rookery.ask("slow", "go 0") == said("slow", 0)[0]


@pytest.mark.spec("F3", "K3")
@pytest.mark.parametrize("moment", ["pasted", "printed", "told"])
def test_a_daemon_that_dies_in_between_loses_and_doubles_nothing(
    rookery: Rookery, moment: str
) -> None:
    start_talker(rookery, "left", "full")
    start_talker(rookery, "right")
    relay(rookery, "left", "right")
    rookery.ask("left", "go 0")

    asked = rookery.send("left", "go 1")
    if moment == "told":
        rookery.client.get("messages", str(asked), "answer", timeout=60)
    else:
        shown = "go 1" if moment == "pasted" else "ends 1"
        eventually(lambda: shown in rookery.screen("left"))
    rookery.kill()
    rookery.up()
    eventually(
        lambda: [step for _, step in relayed(rookery)] == ["acknowledged"] * 2, within=60.0
    )

    turn = rookery.client.get("messages", str(asked), "answer", timeout=60)
    words = [each for each, _ in relayed(rookery)]
    assert turn["answer"] == said("left", 1)[0]
    assert words == [attributed("left", 1, each) for each in said("left", 0, 1)]


@pytest.mark.spec("F3")
def test_a_shell_answers_what_its_command_printed(rookery: Rookery) -> None:
    rookery.start("sh", agent="shell", command=["sh"])
    rookery.start("bash", agent="shell", command=["bash", "--norc", "-i"])

    for name in ("sh", "bash"):
        assert rookery.ask(name, "echo one; echo; echo two") == "one\n\ntwo"
        assert rookery.ask(name, "printf unfinished") == "unfinished"
        assert rookery.ask(name, "clear; echo cleared") == "cleared"
        assert rookery.ask(name, "true") == ""
        assert rookery.ask(name, "/bin/echo by its path") == "by its path"
        assert rookery.ask(name, "echo " + "long " * 100) == "long " * 99 + "long"
        assert rookery.ask(name, "cd /; pwd") == "/"
        assert rookery.ask(name, "echo one; echo; echo two") == "one\n\ntwo"
    asked = rookery.run("ask", "sh", "echo as a person does")
    assert asked.stdout == "as a person does\n"


@pytest.mark.spec("F3")
def test_of_a_very_long_answer_the_end_is_kept_and_the_cut_is_said(rookery: Rookery) -> None:
    rookery.start("sh", agent="shell", command=["sh"])

    long = rookery.ask("sh", "seq 9000 | sed 's/^/a rather long line /'")
    longer = rookery.ask("sh", "seq 30000; echo the end")
    short = rookery.ask("sh", "echo short")

    head, _, rest = long.partition("\n")
    assert head.startswith("… (")
    assert head.endswith("characters before this)")
    assert rest.endswith("a rather long line 8999\na rather long line 9000")
    assert len(long.encode()) <= 64_000
    assert longer.startswith("… (")
    assert longer.endswith("29999\n30000\nthe end")
    assert short == "short"


@pytest.mark.spec("F3")
def test_of_a_program_that_draws_a_whole_screen_there_are_no_words(rookery: Rookery) -> None:
    rookery.start("sh", agent="shell", command=["sh"])

    drawn = rookery.ask("sh", r"printf '\033[?1049h\033[Ha whole screen'")
    left = rookery.ask("sh", r"printf '\033[?1049l'; echo left")
    after = rookery.ask("sh", "echo back")

    assert (drawn, left, after) == ("", "", "back")
