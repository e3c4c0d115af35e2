"""Rookery on a system without /proc and pidfds; ``make test-portable`` runs all tests so."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.real.own_tmux import OwnTmux
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real

#: Asks for a token on the socket, as a command of an agent without its badge may try to.
ASK = """
import os, pathlib, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect(sys.argv[1])
door.sendall(b"GET /v1/tokens HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n")
status = door.recv(65536).split()[1]
file = pathlib.Path(sys.argv[2])
file.with_suffix(".part").write_bytes(status)
file.with_suffix(".part").rename(file)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTmux]:
    own = OwnTmux(tmp_path)
    yield own
    own.clear_away()


@pytest.fixture
def portable(tmp_path: Path, own: OwnTmux) -> Iterator[Rookery]:
    """Give a daemon that may use psutil only."""
    rookery = Rookery(tmp_path, environment={"ROOKERY_PORTABLE": "1"})
    rookery.configure(own.settings)
    rookery.up()
    yield rookery
    rookery.clear_away()


def observed(rookery: Rookery) -> dict[str, Any] | None:
    sessions: list[dict[str, Any]] = rookery.client.get("sessions")["sessions"]
    return next((each for each in sessions if each["runtime"] == "observed"), None)


def pid_in(rookery: Rookery, name: str) -> int:
    pane = str(rookery.session(name)["tmux_pane"])
    return int(rookery.tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))


@pytest.mark.spec("A3", "A6")
@pytest.mark.parametrize(
    ("words", "reason"),
    [("exit: 3", "it exited with status 3"), ("crash:", "it was killed by SIGKILL")],
)
def test_the_end_of_a_program_is_seen(portable: Rookery, words: str, reason: str) -> None:
    portable.start("it")
    answer = portable.ask("it", "say: Hello")

    portable.send("it", words)
    ended = portable.ended("it")

    assert answer == "Hello"
    assert ended["reason"].startswith(reason)


@pytest.mark.spec("A4", "A7")
def test_sessions_live_on_when_the_daemon_is_killed(portable: Rookery) -> None:
    portable.start("it")
    pid = pid_in(portable, "it")
    portable.kill()

    portable.up()

    assert portable.ask("it", "say: Still here.") == "Still here."
    assert pid_in(portable, "it") == pid


@pytest.mark.spec("A3")
def test_an_end_reaches_all_that_the_program_started(portable: Rookery) -> None:
    file = portable.project / "pid"
    script = f"trap '' HUP TERM; sleep 600 & echo $! > {file}; wait"
    portable.start("it", agent="shell", command=["sh", "-c", script])
    eventually(lambda: file.exists() and file.read_text().strip())
    child = int(file.read_text())

    portable.run("end", "it")
    portable.ended("it")

    eventually(lambda: not is_there(child))


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.spec("B6", "B7", "A6")
def test_an_agent_in_the_users_own_pane_is_found_asked_and_seen_to_end(
    portable: Rookery, own: OwnTmux
) -> None:
    own.demo(portable.project)
    eventually(lambda: observed(portable))
    session = observed(portable)
    assert session
    pid, _, started = session["process"].partition(":")

    message = portable.send(session["name"], "say: Found.")
    eventually(lambda: portable.step(message)[0] == "acknowledged")
    os.kill(int(pid), signal.SIGKILL)
    ended = portable.ended(session["id"])

    assert "." in started  # in seconds: so psutil was asked, and not the kernel
    assert ended["ended_at"]


@pytest.mark.spec("K5")
@pytest.mark.parametrize("how", ["child", "detached", "bare"])
def test_a_command_of_a_session_is_not_the_owner(portable: Rookery, how: str) -> None:
    answer, script = portable.project / "answer", portable.project / "ask.py"
    script.write_text(ASK)
    ask = f"{sys.executable} {script} {portable.home.door} {answer}"
    lines = {
        "child": f"unset ROOKERY_BADGE; {ask}",
        "detached": f"setsid -f env -u ROOKERY_BADGE {ask}",
        # It leaves the process tree and empties its environment, and stays on the terminal.
        "bare": f"(env -i {ask} &)",
    }

    portable.start("sly", agent="shell", command=["sh", "-c", f"{lines[how]}; sleep 600"])
    eventually(answer.exists)

    assert answer.read_text() == "403"
