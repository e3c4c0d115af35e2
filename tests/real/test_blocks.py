"""The blocks of a real session: printed as they come, each once, across a killed daemon."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(120), pytest.mark.spec("G4")]

KINDS = ["prompt", "tool-call", "tool-result", "text"]


@pytest.mark.spec("K3")
@pytest.mark.parametrize("runtime", ["tmux", "acp"])
def test_a_followed_session_gives_each_block_once_although_the_daemon_is_killed(
    rookery: Rookery, runtime: str
) -> None:
    rookery.start("it", runtime=runtime)
    options = ("--blocks", "-f", "--after", "0", "--json")
    command = [*rookery.program[:-1], "output", "it", *options]
    with subprocess.Popen(
        command, env=rookery.environment, text=True, stdout=subprocess.PIPE
    ) as followed:
        rookery.ask("it", "tool: Bash ls;; say: before")
        assert followed.stdout
        first = followed.stdout.readline()
        rookery.kill()
        rookery.up()
        rookery.ask("it", "tool: Bash ls;; say: after")
        rookery.run("end", "it")
        told = [first, *followed.stdout]

    blocks = [json.loads(line) for line in told]
    assert [each["number"] for each in blocks] == [*range(1, len(blocks) + 1)]
    shown = [each for each in blocks if each["kind"] != "usage"]
    assert [each["kind"] for each in shown] == KINDS * 2
    assert [each["text"] for each in shown if each["kind"] == "text"] == ["before", "after"]


def test_what_was_missed_is_printed_once(rookery: Rookery) -> None:
    rookery.start("it")
    rookery.ask("it", "say: One.")

    first = rookery.run("output", "it", "--blocks", "--missed").stdout
    again = rookery.run("output", "it", "--blocks", "--missed")
    rookery.ask("it", "say: Two.")
    eventually(lambda: rookery.session("it")["activity"] == "idle")
    rest = rookery.run("output", "it", "--blocks", "--missed").stdout

    assert first.splitlines() == ["  1  ❯ say: One.", "  2  One."]
    assert (again.stdout, again.stderr) == ("", "it has nothing new.\n")
    assert rest.splitlines() == ["  3  ❯ say: Two.", "  4  Two."]
