"""A real driver host that is suspended, or whose files are deleted, keeps its sessions."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rookery.drivers.event_file import EventReader
from rookery.drivers.events import ProcessStarted
from rookery.drivers.host_files import read_process
from rookery.processes import Process, is_running
from tests.support.real.resumed import last_answer
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def rookery(cold: Rookery) -> Iterator[Rookery]:
    cold.up()
    yield cold
    cold.run("end", "--all")


def start(rookery: Rookery, name: str, *words: str) -> None:
    done = rookery.run("start", "demo", "--runtime", "acp", "--name", name, "--wait", *words)
    assert done.returncode == 0, done.stderr


def host_pid(rookery: Rookery) -> int:
    process = read_process(rookery.home.driver_record)
    assert process
    assert is_running(process)
    return process.pid


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.spec("A7", "K4")
def test_sessions_stay_while_their_host_is_suspended_and_the_daemon_restarts(
    rookery: Rookery,
) -> None:
    for name in ("one", "two"):
        start(rookery, name, "say: hello")
    host = host_pid(rookery)

    with suspended(host):
        rookery.kill()
        rookery.up()
        why = rookery.run("why", "one").stdout
        doctor = rookery.run("doctor").stdout
        during = [rookery.session(name)["status"] for name in ("one", "two")]

    assert "The driver host does not answer." in why
    assert "the driver host does not answer." in doctor
    assert during == ["running", "running"]
    assert [rookery.ask(name, "say: again") for name in ("one", "two")] == ["again", "again"]
    assert host_pid(rookery) == host
    assert "does not answer" not in rookery.run("doctor").stdout


@pytest.mark.spec("A7", "K4")
def test_a_turn_goes_on_after_the_files_of_its_host_are_deleted(rookery: Rookery) -> None:
    start(rookery, "one", "say: hello")
    host = host_pid(rookery)
    rookery.send("one", "sleep: 2;; say: done")
    eventually(lambda: rookery.session("one")["activity"] == "working")

    rookery.home.driver_key.unlink()
    shutil.rmtree(rookery.home.run)
    rookery.kill()
    rookery.up()

    eventually(lambda: rookery.session("one")["activity"] == "idle")
    assert last_answer(rookery, "one") == "done"
    start(rookery, "two", "say: hello")
    assert host_pid(rookery) == host
    assert rookery.home.driver_key.stat().st_mode & 0o777 == 0o600


@pytest.mark.spec("A7", "K4")
def test_a_turn_is_recorded_after_the_folder_of_the_event_files_is_deleted(
    rookery: Rookery,
) -> None:
    start(rookery, "one", "say: hello")
    rookery.send("one", "sleep: 1;; say: done")
    eventually(lambda: rookery.session("one")["activity"] == "working")

    shutil.rmtree(rookery.home.driven_events)
    start(rookery, "two", "say: hello")

    eventually(lambda: rookery.session("one")["activity"] == "idle")
    assert last_answer(rookery, "one") == "done"
    shutil.rmtree(rookery.home.driven_events)
    rookery.kill()
    rookery.up()
    assert [rookery.ask(name, "say: again") for name in ("one", "two")] == ["again", "again"]


def answers(rookery: Rookery, name: str) -> list[str]:
    turns = rookery.client.get("sessions", name, "turns")["turns"]
    return [each["answer"] for each in turns]


def is_process_noted(rookery: Rookery) -> bool:
    """Return whether the host has stored which process the agent is."""
    files = rookery.home.driven_events.glob("*.events")
    events = (entry.event for file in files for entry in EventReader(file).read())
    return any(isinstance(each, ProcessStarted) for each in events)


@pytest.mark.spec("A3", "K3")
@pytest.mark.parametrize("order", ["host, daemon", "daemon, host"])
def test_a_session_comes_up_though_daemon_and_host_are_killed_while_it_starts(
    cold: Rookery, order: str
) -> None:
    gate, begun = cold.folder / "gate", cold.folder / "begun"
    wait = f"echo $$ >> {begun}; while [ ! -e {gate} ]; do sleep 0.05; done"
    demo = f"{wait}; exec {sys.executable} -I -m rookery.programs.demo --acp"
    cold.configure(f'[agents.slow]\nacp = ["sh", "-c", "{demo}"]\n')
    cold.up()
    assert cold.run("start", "slow", "--name", "one", "say: hello").returncode == 0
    eventually(begun.exists)
    eventually(lambda: is_process_noted(cold))

    if order == "host, daemon":
        os.kill(host_pid(cold), signal.SIGKILL)
        cold.kill()
        cold.up()
    else:
        cold.kill()
        cold.up()
        os.kill(host_pid(cold), signal.SIGKILL)
    eventually(lambda: len(begun.read_text().split()) == 2)
    gate.touch()

    eventually(lambda: answers(cold, "one") == ["hello"])
    first = int(begun.read_text().split()[0])
    assert Process.of(first) is None
    with cold.database() as db:
        assert db.execute("select step from messages").fetchall() == [("acknowledged",)]
    cold.run("end", "--all")


@pytest.mark.spec("A3", "K3")
@pytest.mark.parametrize("moment", ["its process is recorded", "it has an event file"])
def test_a_session_comes_up_though_its_host_is_killed_right_after_the_start(
    cold: Rookery, moment: str
) -> None:
    gate = cold.folder / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    demo = f"{wait}; exec {sys.executable} -I -m rookery.programs.demo --acp"
    cold.configure(f'[agents.slow]\nacp = ["sh", "-c", "{demo}"]\n')
    cold.up()
    begun = cold.run("start", "slow", "--name", "one", "say: hello")
    assert begun.returncode == 0, begun.stderr
    eventually(cold.home.driver_record.exists)
    if moment == "it has an event file":
        eventually(lambda: list(cold.home.driven_events.glob("*.events")))

    os.kill(host_pid(cold), signal.SIGKILL)
    gate.touch()

    eventually(lambda: answers(cold, "one") == ["hello"])
    with cold.database() as db:
        assert db.execute("select step from messages").fetchall() == [("acknowledged",)]
    cold.run("end", "--all")
