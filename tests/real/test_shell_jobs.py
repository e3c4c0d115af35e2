"""A shell that runs commands which print nothing for a while: bash in a real tmux."""

from __future__ import annotations

import pytest

from rookery.processes import IS_PORTABLE
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.spec("A2", "F3")]


@pytest.fixture
def shell(rookery: Rookery) -> Rookery:
    rookery.start("it", agent="shell", command=["bash", "--norc", "--noprofile"])
    return rookery


@pytest.mark.skipif(IS_PORTABLE, reason="only Linux tells what a command waits for")
def test_a_turn_does_not_end_while_its_command_runs(shell: Rookery) -> None:
    late = shell.ask("it", "sleep 4; echo late")
    now = shell.ask("it", "echo now")

    assert (late, now) == ("late", "now")


def test_words_reach_a_command_that_waits_for_them(shell: Rookery) -> None:
    shell.ask("it", "cat")

    assert shell.ask("it", "hello") == "hello"
    eventually(lambda: shell.session("it")["activity"] == "idle")
