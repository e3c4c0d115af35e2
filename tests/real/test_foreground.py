"""Sessions in the foreground: what was missed, then all as it comes; nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.real.http import badge_of
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.toolbox import Way, tools

pytestmark = [pytest.mark.real, pytest.mark.spec("H3", "I5")]


class Shown:
    """A command that shows something for as long as it runs."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def words(self) -> list[str]:
        """What agents said: it is set in."""
        lines = self.out.splitlines()
        return [line[2:] for line in lines if line.startswith("  ")]

    def until(self, text: str) -> None:
        def is_said() -> bool:
            """Look whether it was said, to the person or beside."""
            assert self.process.poll() is None or text in self.out + self.err, self.err
            return text in self.out + self.err

        eventually(is_said)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(SOON)


@contextmanager
def shown(rookery: Rookery, *words: str, file: str = "shown") -> Iterator[Shown]:
    """Type a command, and leave it alone; what it says is kept in files."""
    out, err = (rookery.folder / f"{file}.{kind}" for kind in ("out", "err"))
    with (
        out.open("wb") as to,
        err.open("wb") as beside,
        subprocess.Popen(
            # Whoever runs these tests in the background ignores some signals.
            ["env", "--default-signal", sys.executable, "-m", "rookery", *words],
            env=rookery.environment,
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=beside,
            cwd=rookery.project,
        ) as process,
    ):
        try:
            yield Shown(process, out, err)
        finally:
            process.kill()


def in_front(rookery: Rookery) -> list[str]:
    found = rookery.client.get("foregrounds")["foregrounds"]
    return [rookery.session(each["session"])["name"] for each in found]


def test_what_was_missed_is_shown_and_then_what_comes(rookery: Rookery) -> None:
    rookery.start("builder")
    rookery.ask("builder", "say: one")

    with shown(rookery, "fg", "builder") as first:
        first.until("builder is idle")
        rookery.ask("builder", "tool: Bash ls;; say: two")
        first.until("  two")
        assert in_front(rookery) == ["builder"]
        code = first.end(signal.SIGINT)
    rookery.ask("builder", "say: three")
    with shown(rookery, "fg", "builder", file="again") as again:
        again.until("builder is idle")

    assert code == 130
    assert "builder is in the background now. Show again:  rookery follow builder" in first.err
    assert first.words == ["one", "two"]
    assert (
        first.out.count("❯ say: one\n") == first.out.count("❯ tool: Bash ls;; say: two\n") == 1
    )
    assert "🔧 Bash — ls\n" in first.out
    assert again.words == ["three"]


def test_what_it_asks_is_shown_with_how_to_answer(rookery: Rookery) -> None:
    rookery.start("builder")

    with shown(rookery, "fg", "builder") as fg:
        fg.until("builder is idle")
        message = rookery.send("builder", "permission: Bash rm -r build;; say: Gone.")
        fg.until("builder waits for you: May it use Bash?")
        (asked,) = rookery.client.get("permissions")["requests"]
        fg.until(f"  rookery allow {asked['id']}  |  rookery deny {asked['id']}")
        rookery.run("allow", asked["id"])
        rookery.client.get("messages", str(message), "answer", timeout=SOON)
        fg.until("  Gone.")

        assert fg.out.count("waits for you") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_is_closed_leaves_nothing_in_front(
    rookery: Rookery, number: int
) -> None:
    rookery.start("builder")

    with shown(rookery, "fg", "builder") as fg:
        fg.until("builder is idle")
        code = fg.end(number)

    assert code == 130
    assert in_front(rookery) == []


def test_put_into_the_background_elsewhere_it_ends(rookery: Rookery) -> None:
    rookery.start("builder")

    with shown(rookery, "fg", "builder") as fg:
        fg.until("builder is idle")
        put = rookery.run("bg")
        code = fg.process.wait(SOON)

    assert (
        put.stdout == "builder is in the background now. Show again:  rookery follow builder\n"
    )
    assert code == 0
    assert "builder was put into the background" in fg.err
    assert rookery.run("bg", "builder").stdout == "builder was not in the foreground.\n"


def test_it_ends_with_its_session(rookery: Rookery) -> None:
    rookery.start("builder")

    with shown(rookery, "fg", "builder") as fg:
        fg.until("builder is idle")
        rookery.send("builder", "say: bye;; exit: 0")
        code = fg.process.wait(SOON)

    assert code == 0
    assert "builder has ended" in fg.out
    assert in_front(rookery) == []


@pytest.mark.spec("K3")
def test_over_the_death_of_the_daemon_nothing_is_lost_and_nothing_shown_twice(
    rookery: Rookery,
) -> None:
    rookery.start("builder")
    rookery.ask("builder", "say: before")

    with shown(rookery, "fg", "builder") as fg:
        fg.until("builder is idle")
        rookery.send("builder", "sleep: 1;; say: meanwhile")
        fg.until("❯ sleep: 1;; say: meanwhile")
        rookery.kill()
        rookery.up()
        fg.until("  meanwhile")
        rookery.ask("builder", "say: after")
        fg.until("  after")

        assert fg.words == ["before", "meanwhile", "after"]
        assert fg.out.count("❯") == 3
        rookery.kill()
        rookery.up()
        rookery.ask("builder", "say: last")
        fg.until("  last")
        assert fg.end(signal.SIGINT) == 130

    assert fg.words == ["before", "meanwhile", "after", "last"]
    assert in_front(rookery) == []


@pytest.mark.spec("K3")
def test_what_a_killed_one_has_shown_is_not_shown_again(rookery: Rookery) -> None:
    rookery.start("builder")
    for words in ("one", "two"):
        rookery.ask("builder", f"say: {words}")

    with shown(rookery, "fg", "builder") as first:
        first.until("builder is idle")  # which is said after all was said to be shown
        first.end(signal.SIGKILL)
    rookery.ask("builder", "say: three")
    with shown(rookery, "fg", file="again") as again:
        again.until("builder is idle")

    assert first.words == ["one", "two"]
    assert again.words == ["three"]


def test_two_terminals_show_the_same(rookery: Rookery) -> None:
    rookery.start("builder")

    with (
        shown(rookery, "fg", "builder") as one,
        shown(rookery, "fg", "builder", file="other") as other,
    ):
        for each in (one, other):
            each.until("builder is idle")
        rookery.ask("builder", "say: to both")
        for each in (one, other):
            each.until("  to both")

        assert one.words == other.words == ["to both"]


@pytest.mark.spec("I2")
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_an_agent_brings_a_session_before_its_person(rookery: Rookery, way: Way) -> None:
    for name in ("boss", "stranger"):
        rookery.start(name)

    with (
        tools(rookery, way, badge=badge_of(rookery, "boss")) as boss,
        shown(rookery, "fg") as fg,
    ):
        fg.until("No session is in the foreground yet.")
        made = boss.call("start_session", name="worker", message="say: I am up")["session_id"]
        rookery.client.get("sessions", "worker", "wait", until="stop", timeout=SOON)
        brought = boss.call("foreground", session_id="worker")
        again = boss.call("foreground", session_id="worker")
        fg.until("  I am up")
        rookery.ask("worker", "say: seen")
        fg.until("  seen")
        puts = [boss.call("background", session_id="worker") for _ in "ab"]
        fg.until("worker was put into the background")

        assert fg.process.poll() is None
        assert fg.words == ["I am up", "seen"]
        refused = boss.refused("foreground", session_id="stranger")

    assert (brought["session_id"], brought["channel"]) == (made, "terminal")
    assert (brought["is_new"], again["is_new"]) == (True, False)
    assert "`rookery follow`" in brought["advice"]
    assert [each["was_in_front"] for each in puts] == [True, False]
    assert "not in the caller's family" in refused


@pytest.mark.spec("I2")
def test_to_bring_it_shows_nothing(rookery: Rookery) -> None:
    rookery.start("boss")
    rookery.ask("boss", "say: not seen yet")

    with tools(rookery, badge=badge_of(rookery, "boss")) as boss:
        missed = [boss.call("foreground", session_id="boss")["missed"] for _ in "ab"]
    with shown(rookery, "fg") as fg:
        fg.until("boss is idle")
        fg.end(signal.SIGINT)

    assert missed == [1, 1]
    assert fg.words == ["not seen yet"]
    assert in_front(rookery) == ["boss"]  # the agent brought it, and nobody has put it back


def test_a_plain_program_reads_well_too(rookery: Rookery) -> None:
    rookery.start("repl", agent="shell", command=["/bin/sh"])
    rookery.ask("repl", "echo one")

    with shown(rookery, "fg", "repl") as fg:
        fg.until("repl is idle")
        rookery.ask("repl", "echo two")
        fg.until("  two")

    assert fg.words == ["one", "two"]
    assert fg.out.count("❯ echo") == 2


def test_in_json_each_line_is_an_object(rookery: Rookery) -> None:
    rookery.start("builder")
    rookery.ask("builder", "say: one")

    with shown(rookery, "fg", "--json", "builder") as fg:
        fg.until('"state"')
        rookery.send("builder", "say: two;; exit: 0")
        fg.process.wait(SOON)

    told = [json.loads(line) for line in fg.out.splitlines()]
    kinds = [each["kind"] for each in told]
    assert kinds[:3] == ["foreground", "turn", "state"]
    assert kinds[-1] == "ended"
    assert {each["name"] for each in told} == {"builder"}


@pytest.mark.spec("K5")
def test_within_a_session_nobody_says_what_a_person_has_seen(rookery: Rookery) -> None:
    rookery.start("builder")
    rookery.ask("builder", "say: one")
    secret = badge_of(rookery, "builder")
    rookery.environment["ROOKERY_BADGE"] = secret

    done = rookery.run("fg", "builder")
    listed = rookery.run("bg", "builder")

    assert done.returncode == 2
    assert "its tool `foreground`" in done.stderr
    assert listed.stdout == "builder was not in the foreground.\n"


def test_what_has_ended_is_shown_once_and_wakes_nobody(rookery: Rookery) -> None:
    rookery.start("kid")
    rookery.ask("kid", "say: my last words")
    rookery.run("end", "kid")
    with shown(rookery, "fg", file="all") as waiting:
        waiting.until("Waiting for sessions that an agent brings")
        before = entries(rookery)

        said = rookery.run("fg", "kid")
        rookery.start("other")
        rookery.client.post("sessions", "other", "foreground")
        waiting.until("other is idle")

        assert "  my last words" in said.stdout
        assert said.returncode == 0
        assert "kid" not in waiting.out
        told = [kind for kind in entries(rookery)[len(before) :] if "foreground" in kind]
        assert told == ["foreground-entered"]


def entries(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        return [row[0] for row in db.execute("select kind from entries order by seq")]
