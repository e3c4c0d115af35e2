"""What the operating system tells of processes: by /proc, and by psutil."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.processes.linux import ProcSystem
from rookery.processes.operating_system import System
from rookery.processes.portable import PsutilSystem
from tests.support.real.rookery import eventually

HAS_PROC = Path("/proc/self/stat").exists()


@pytest.fixture(params=["proc", "psutil"])
def system(request: pytest.FixtureRequest) -> System:
    if request.param == "psutil":
        return PsutilSystem()
    if not HAS_PROC:
        pytest.skip("this system has no /proc")
    return ProcSystem()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "ROOKERY_SESSION": "it=1"}
    words = ["sleep", "60", "two words"]
    script = "exec -a sleep sh -c 'read line' \"$@\""
    with subprocess.Popen(
        ["bash", "-c", script, *words],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def test_a_process_has_its_start_its_parent_and_its_owner(
    system: System, child: subprocess.Popen[bytes]
) -> None:
    started, parent = system.start_and_parent(child.pid)

    assert started
    assert parent == os.getpid()
    assert system.start_and_parent(child.pid) == (started, parent)
    assert system.owner(child.pid) == os.getuid()
    assert child.pid in system.pids()
    assert child.pid in system.children(os.getpid())


def test_a_process_has_its_program_folder_and_environment(
    system: System, child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    eventually(lambda: system.argv(child.pid)[:1] == ("sleep",))

    assert system.argv(child.pid) == ("sleep", "-c", "read line", "60", "two words")
    assert system.executable(child.pid) == Path("/bin/sh").resolve().name
    assert system.folder(child.pid) == str(tmp_path)
    assert system.variable(child.pid, "ROOKERY_SESSION") == "it=1"
    assert system.variable(child.pid, "ROOKERY_NONE") == ""


def test_a_process_began_a_moment_ago(system: System, child: subprocess.Popen[bytes]) -> None:
    began = system.began(child.pid)

    assert began
    assert abs(datetime.now(UTC) - began) < timedelta(minutes=1)


def test_an_open_file_is_seen(system: System, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w"):
        assert system.has_open(os.getpid(), str(path))

    assert not system.has_open(os.getpid(), str(path))


def test_processes_of_two_sessions_are_not_on_one_terminal(
    system: System, child: subprocess.Popen[bytes]
) -> None:
    ours, of_child = system.terminal(os.getpid()), system.terminal(child.pid)

    assert not ours or ours != of_child


def test_a_stopped_process_is_not_in_front(
    system: System, child: subprocess.Popen[bytes]
) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)

    assert not system.is_in_front(child.pid)


@pytest.mark.parametrize("is_reaped", [False, True])
def test_a_process_that_has_ended_is_gone(
    system: System, child: subprocess.Popen[bytes], is_reaped: bool
) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    if is_reaped:
        child.wait()

    assert system.start_and_parent(child.pid)[0] is None
    assert system.argv(child.pid) == ()
    assert system.executable(child.pid) == ""
    assert system.variable(child.pid, "ROOKERY_SESSION") == ""
    assert system.folder(child.pid) == ""
    assert list(system.children(child.pid)) == []
    assert not system.has_open(child.pid, "/dev/null")
    assert not system.is_busy(child.pid)


@pytest.mark.parametrize("query", ["start_and_parent", "children", "argv", "folder"])
def test_a_process_that_ends_during_a_query_is_no_error(system: System, query: str) -> None:
    for _ in range(50):
        with subprocess.Popen(["sh", "-c", "exit"]) as process:
            reaping = threading.Thread(target=process.wait)
            reaping.start()
            while reaping.is_alive():
                getattr(system, query)(process.pid)
            reaping.join()


def test_psutil_tells_nothing_of_which_it_is_not_certain() -> None:
    system = PsutilSystem()

    assert system.foreground_group(os.getpid()) is None
    assert not system.is_busy(os.getpid())
    assert system.exit_descriptor(os.getpid()) is None
    assert system.terminal(os.getpid()) == os.getsid(0)
