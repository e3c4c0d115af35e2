"""Lists tell the present, with a real daemon, real agents and a real terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.daily import make_repository
from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.real.terminals import terminal_of
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


def row(rookery: Rookery, name: str) -> str:
    """Return the line of a session in ``rookery ls``."""
    listed = rookery.run("ls", "-a").stdout.splitlines()
    return next(line for line in listed if line.split()[0] == name)


def listed(rookery: Rookery, name: str) -> dict[str, Any]:
    (found,) = (each for each in rookery.json("ls")["sessions"] if each["name"] == name)
    return dict(found)


def sees(rookery: Rookery, name: str, *words: str) -> None:
    eventually(lambda: all(each in row(rookery, name) for each in words), within=2 * SOON)


@pytest.mark.spec("I5", "C6")
def test_a_list_tells_what_a_session_does_asks_and_has_answered(rookery: Rookery) -> None:
    make_repository(rookery.project)
    rookery.start("it")

    rookery.send("it", "permission: Bash rm -rf build;; tool: Read a.py;; sleep: 120")
    sees(rookery, "it", "permission", "Bash — rm -rf build", "main")
    assert rookery.run("allow", "it").returncode == 0
    sees(rookery, "it", "working", "Read (done) — a.py")
    assert rookery.run("interrupt", "it").returncode == 0
    sees(rookery, "it", "idle", "interrupted: ❯ permission: Bash rm")
    rookery.ask("it", "say: All 14 tests pass.")

    sees(rookery, "it", "idle", "● All 14 tests pass.")
    found = listed(rookery, "it")
    assert (found["last_tool"], found["tool_argument"]) == ("Read", "a.py")
    assert (found["branch"], found["is_unread"]) == ("main", True)


@pytest.mark.spec("I5", "C6")
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_list_tells_what_a_real_agent_does(
    cold: Rookery, models: ModelServer, agent: str
) -> None:
    configure(cold, models.url)
    cold.up()
    cold.start("it", agent=agent)

    touch = "touch one.txt && sleep 60"
    escalated = {"cmd": touch, "sandbox_permissions": "require_escalated", "justification": "x"}
    codex = f"tool: exec_command {json.dumps(escalated)}"
    asking = {"claude": f"bash: {touch}", "codex": codex}[agent]
    cold.send("it", f"{asking};; say: The first line.\nThe second one.")
    sees(cold, "it", "permission", f"Bash — {touch}")
    assert cold.run("allow", "it").returncode == 0
    sees(cold, "it", "working", "Bash (", touch)
    assert listed(cold, "it")["tool_argument"] == touch
    cold.run("interrupt", "it")
    eventually(lambda: cold.session("it")["activity"] == "idle")
    cold.ask("it", "say: The first line.", timeout=2 * SOON)

    sees(cold, "it", "idle", "● The first line.")
    assert f"🔧 Bash — {touch}" in cold.run("logs", "it").stdout


@pytest.mark.spec("I5", "A4")
def test_ended_sessions_are_left_out_and_failed_ones_stay_until_they_are_seen(
    rookery: Rookery,
) -> None:
    for name in ("polite", "crashing"):
        rookery.start(name)
    rookery.run("end", "polite")
    rookery.send("crashing", "crash:")
    for name in ("polite", "crashing"):
        rookery.ended(name)

    def names() -> list[str]:
        return rookery.run("ls", "-q").stdout.split()

    before = names()
    with terminal_of(rookery, "show", "crashing") as terminal:
        assert terminal.wait() == 0

    assert (before, names()) == (["crashing"], [])
    assert "rookery ls -a" in rookery.run("ls").stdout
    assert "ended by you" in row(rookery, "polite")


@pytest.mark.spec("I5")
def test_an_answer_is_read_once_a_terminal_has_shown_it(rookery: Rookery) -> None:
    rookery.start("it")
    for words in (["output", "it"], ["logs", "it"], ["show", "it"]):
        rookery.ask("it", "say: Done.")
        rookery.run(*words)  # into a pipe
        rookery.json(*words)
        unread = listed(rookery, "it")["is_unread"]
        with terminal_of(rookery, *words) as terminal:
            assert terminal.wait() == 0

        assert "Done." in terminal.text
        assert (unread, listed(rookery, "it")["is_unread"]) == (True, False), words


@pytest.mark.spec("I5")
def test_a_watched_list_follows_events_sizes_and_restarts(rookery: Rookery) -> None:
    rookery.start("it")
    with terminal_of(rookery, "ls", "--watch") as terminal:
        terminal.see("it ")
        rookery.ask("it", "say: The first answer.")
        terminal.see("● The first answer.")
        terminal.resize(40, 10)
        eventually(lambda: "AGENT" not in terminal.last_screen)
        rookery.stop()
        terminal.see("No daemon is running")
        rookery.up()
        rookery.ask("it", "say: Second.")
        terminal.see("● Second.")
        terminal.press(b"\x03")

        assert terminal.wait() == 130
    assert terminal.printed.endswith(b"\x1b[?25h\x1b[?1049l")
    assert b"Traceback" not in terminal.printed


@pytest.mark.spec("I5", "A10")
def test_a_resumed_session_shows_the_whole_conversation(rookery: Rookery) -> None:
    rookery.start("it")
    rookery.ask("it", "tool: Bash make;; say: Before.")
    rookery.run("end", "it")
    rookery.ended("it")
    rookery.run("resume", "it", "say: After.")
    eventually(lambda: "\nAfter." in rookery.run("output", "it").stdout)

    usual, whole = rookery.run("logs", "it"), rookery.run("logs", "it", "--whole")

    assert "rookery logs it --whole" in usual.stderr
    assert "Before." not in usual.stdout
    prompts = [
        line for line in whole.stdout.splitlines() if line.startswith(("❯", "🔧", "A", "B"))
    ]
    assert prompts == [
        "❯ tool: Bash make;; say: Before.",
        "🔧 Bash — make",
        "Before.",
        "❯ say: After.",
        "After.",
    ]
    told = rookery.json("output", "it", "--whole")
    assert [each["answer"] for each in told["earlier"][0]["turns"]] == ["Before."]


@pytest.mark.spec("I5")
def test_logs_follow_tools_and_answers_as_they_happen(rookery: Rookery) -> None:
    rookery.start("it")
    with terminal_of(rookery, "logs", "it", "-f") as terminal:
        rookery.send("it", "tool: Bash make all;; permission: Bash rm x;; say: Done.")
        eventually(lambda: "🔧 Bash — make all" in terminal.text)
        assert "Done." not in terminal.text.replace("say: Done.", "")
        eventually(lambda: rookery.run("allow", "it").returncode == 0)
        eventually(lambda: "\nDone." in terminal.text.replace("\r", ""))
        rookery.run("end", "it")

        assert terminal.wait() == 0
    assert terminal.text.count("🔧 Bash — make all") == 1


@pytest.mark.spec("I5")
def test_the_foreground_shows_tools_with_their_arguments(rookery: Rookery) -> None:
    rookery.start("it")
    with terminal_of(rookery, "fg", "it") as terminal:
        eventually(lambda: "is shown here" in terminal.text)
        rookery.ask("it", "tool: Bash make all;; say: Done.")
        eventually(lambda: "🔧 Bash — make all" in terminal.text)
        eventually(lambda: not listed(rookery, "it")["is_unread"])
        terminal.press(b"\x03")

        assert terminal.wait() == 130


@pytest.mark.spec("I5")
def test_everything_about_a_session_is_shown_with_the_next_commands(rookery: Rookery) -> None:
    rookery.start("it")
    rookery.send("it", "permission: Bash rm -rf build")
    sees(rookery, "it", "permission")

    shown, same = rookery.run("show", "it").stdout, rookery.run("inspect", "it").stdout
    told = rookery.json("show", "it")

    (request,) = told["requests"]
    assert f"rookery allow {request['id']}" in shown
    for each in ("Bash — rm -rf build", told["session"]["id"], "~/project"):
        assert each in shown
    assert same.splitlines()[2] == shown.splitlines()[2]


@pytest.mark.spec("I5", "C1")
def test_a_session_in_ones_own_tmux_is_marked_and_has_its_windows_name(cold: Rookery) -> None:
    own = OwnTmux(cold.folder)
    try:
        cold.configure(own.settings)
        cold.environment["COLUMNS"] = "120"
        cold.up()
        own.demo(cold.project, window="review")

        eventually(lambda: "observed" in cold.run("ls").stdout)
        head, line = cold.run("ls").stdout.splitlines()
    finally:
        own.tmux("kill-server")

    assert head.startswith("NAME")
    assert "(review)" in line
    assert "(observed)" in line


@pytest.mark.spec("I5", "I2")
def test_the_daemons_log_is_printed_by_the_daemons_commands(rookery: Rookery) -> None:
    log, old = rookery.run("daemon", "logs", "-n", "5"), rookery.run("logs", "-n", "5")

    assert log.stdout == old.stdout != ""
    assert "rookery daemon logs" in old.stderr
    assert json.loads(rookery.run("daemon", "status", "--json").stdout)["pid"] == rookery.pid
