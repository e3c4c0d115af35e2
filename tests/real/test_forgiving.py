"""The command line as a person meets it: the daemon comes by itself, waits are seen."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rookery.agents.names import OWN_VARIABLES
from tests.support.real.attached import AttachedTerminal
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.spec("I5")

REMOVE = "permission: Bash rm -r build;; say: Gone."


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Rookery]:
    """Give a home whose first command may start the daemon."""
    rookery = Rookery(tmp_path, environment={"ROOKERY_AUTOSTART": "1"})
    for name in ("ROOKERY_BADGE", "ROOKERY_SESSION", *OWN_VARIABLES):
        rookery.environment.pop(name, None)
    yield rookery
    rookery.run("end", "--all", "--yes", "--json")
    rookery.run("down")
    rookery.clear_away()


@contextmanager
def terminal(rookery: Rookery, *words: str) -> Iterator[tuple[AttachedTerminal, int]]:
    """Type a command in a terminal of its own; gives what it shows, and its pid."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(rookery.project)
        environment = {**rookery.environment, "TERM": "xterm-256color", "COLUMNS": "80"}
        command = [sys.executable, "-m", "rookery", *words]
        os.execvpe(command[0], command, environment)  # noqa: S606 - no shell
    try:
        yield AttachedTerminal(descriptor), pid
    finally:
        with suppress(OSError):
            os.close(descriptor)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def ended_with(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_the_first_command_starts_the_daemon_and_several_start_one(alone: Rookery) -> None:
    command = [sys.executable, "-m", "rookery", "ls"]
    started = [
        subprocess.Popen(command, env=alone.environment, text=True, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    told = [each.communicate(timeout=60)[1] for each in started]

    assert [each.returncode for each in started] == [0, 0, 0]
    assert sum("Started the daemon. To stop it:  rookery down" in each for each in told) >= 1
    pid = alone.home.lock_pid()
    assert alone.client.get("status")["pid"] == pid
    again = alone.run("ls")
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["status"], ""),
        (["--no-autostart", "ls"], ""),
        (["ls"], "autostart = false"),
    ],
)
def test_a_daemon_that_is_not_wanted_is_not_started(
    alone: Rookery, words: list[str], settings: str
) -> None:
    alone.configure(settings)

    done = alone.run(*words)

    assert done.returncode == 3
    assert alone.home.lock_pid() is None


def test_a_daemon_that_does_not_come_up_says_why(alone: Rookery) -> None:
    alone.configure("[limits]\ntmux_session = 5\n")

    done = alone.run("ls")

    assert done.returncode == 1
    assert "there is no key 'limits.tmux_session'. Did you mean tmux_sessions?" in done.stderr


def test_a_wait_in_a_terminal_shows_a_line_and_clears_it(rookery: Rookery) -> None:
    prompt = "tool: Bash npm test;; slow: 3;; say: Done."
    with terminal(rookery, "start", "demo", "--name", "api", "--wait", prompt) as (shown, pid):
        code = ended_with(pid)
        eventually(lambda: b"api is idle" in shown.shown)

    text = shown.shown.decode()
    assert code == 0
    assert "\r\x1b[Kapi " in text
    last = text.rpartition("\x1b[K")[2]
    assert last.splitlines()[0] == "Done."


def test_whoever_stops_waiting_in_a_terminal_is_told_that_the_agent_goes_on(
    rookery: Rookery,
) -> None:
    rookery.start("api")
    with terminal(rookery, "ask", "api", "sleep: 60") as (shown, pid):
        eventually(lambda: b"api working" in shown.shown)
        os.kill(pid, signal.SIGINT)
        code = ended_with(pid)

        told = b"Stopped waiting; api keeps working. See:  rookery output api"
        eventually(lambda: told in shown.shown)

    assert code == 130
    assert rookery.session("api")["activity"] == "working"


@pytest.mark.spec("D2")
def test_in_a_terminal_a_question_is_told_and_waited_for(rookery: Rookery) -> None:
    with terminal(rookery, "run", "demo", "--name", "api", REMOVE) as (shown, pid):
        eventually(lambda: b"api waits for you: May it use Bash? rm -r build" in shown.shown)
        rookery.run("allow", "api")
        code = ended_with(pid)
        eventually(lambda: b"Gone." in shown.shown)

    assert code == 0


def test_a_run_prints_the_answer_and_leaves_no_session(rookery: Rookery) -> None:
    done = rookery.run("run", "demo", "--name", "once", "say: It works.")
    piped = rookery.run("run", "demo", "--json", words_in="say: From a pipe.")
    failed = rookery.run("run", "demo", "fail: No credit.")

    assert (done.returncode, done.stdout) == (0, "It works.\n")
    assert json.loads(piped.stdout)["answer"] == "From a pipe."
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("rookery: The turn failed: No credit.")
    rookery.ended("once")
    eventually(lambda: all(each["ended_at"] for each in rookery.json("ls")["sessions"]))


@pytest.mark.spec("D2")
@pytest.mark.parametrize("command", [["run", "demo"], ["start", "demo", "--wait"]])
def test_a_script_whose_agent_needs_a_person_ends_at_once(
    rookery: Rookery, command: list[str]
) -> None:
    done = rookery.run(*command, "--name", "api", REMOVE)

    assert done.returncode == 6
    assert "rookery: api waits for you: May it use Bash? rm -r build" in done.stderr
    if command[0] == "run":
        assert "The session was ended.\n" in done.stderr
        assert "rookery allow" not in done.stderr
        assert rookery.ended("api")["status"] == "killed"
    else:
        assert rookery.run("wait", "api").returncode == 6
        asked = rookery.run("ask", "api", "say: x")
        (queued,) = rookery.json("inbox")["letters"]
        assert asked.returncode == 6
        assert f"stays queued (rookery inbox rm {queued['message']})." in asked.stderr
        assert (
            rookery.run("wait", "api", "--on-permission", "wait", "--timeout", "0.1").returncode
            == 4
        )


@pytest.mark.spec("A10")
def test_a_name_may_be_abbreviated_or_misspelt(rookery: Rookery) -> None:
    rookery.start("web-api")

    assert rookery.run("ask", "api", "say: Here.").stdout == "Here.\n"
    assert rookery.run("why", "we").returncode == 0
    refused = rookery.run("end", "api")
    assert refused.returncode == 5
    assert refused.stderr == "rookery: There is no session 'api'. Did you mean web-api?\n"
    assert "web-api was ended" in rookery.run("kill", "web").stdout


def test_arguments_after_dashes_reach_the_agents_program(rookery: Rookery) -> None:
    done = rookery.run("start", "demo", "--name", "api", "--", "--startup-delay", "0.01")
    refused = rookery.run("start", "demo", "--", "--settings", "mine.json")

    assert done.returncode == 0, done.stderr
    rookery.client.get("sessions", "api", "wait", until="up", timeout=40)
    pane = rookery.session("api")["tmux_pane"]
    pid = rookery.tmux("display-message", "-p", "-t", pane, "#{pane_pid}").strip()
    line = subprocess.check_output(["ps", "-ww", "-o", "args=", "-p", pid], text=True)
    assert "--startup-delay 0.01 --session-id" in line
    assert refused.returncode == 2
    assert refused.stderr == "rookery: --settings is for Rookery to set.\n"


def test_the_configured_agent_is_started_if_none_is_named(cold: Rookery) -> None:
    cold.configure('default_agent = "demo"\n')
    cold.up()

    done = cold.run("run", "say: By default.")

    assert (done.returncode, done.stdout) == (0, "By default.\n")
