"""A daemon whose sockets were deleted: it makes them anew, and can be stopped without them."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.spec("K4")]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def answers(rookery: Rookery) -> bool:
    return rookery.run("ls").returncode == 0


def test_a_deleted_socket_is_made_anew(rookery: Rookery) -> None:
    rookery.start("a")
    home = rookery.home

    home.door.unlink()
    eventually(lambda: answers(rookery))
    home.hook_door.unlink()
    home.hook_door.write_text("not a socket")
    eventually(home.hook_door.is_socket)

    assert rookery.ask("a", "say: again") == "again"
    assert {mode(home.door), mode(home.hook_door)} == {0o600}
    assert home.log.read_text().count("listens there again") == 2


def test_a_deleted_folder_of_sockets_is_made_anew(rookery: Rookery) -> None:
    rookery.start("a")

    shutil.rmtree(rookery.home.run)
    eventually(lambda: answers(rookery))
    eventually(rookery.home.hook_door.is_socket)

    assert mode(rookery.home.run) == 0o700
    assert rookery.ask("a", "say: again") == "again"
    assert rookery.run("up").stdout.startswith("Rookery is already running")


def test_an_empty_folder_in_the_place_of_a_socket_is_replaced_by_the_socket(
    rookery: Rookery,
) -> None:
    rookery.start("a")
    home = rookery.home

    for socket in (home.door, home.hook_door):
        socket.unlink()
        socket.mkdir()
        eventually(socket.is_socket)

    eventually(lambda: answers(rookery))
    assert rookery.ask("a", "say: again") == "again"


def test_a_folder_with_files_in_the_place_of_a_socket_is_kept_and_reported(
    rookery: Rookery,
) -> None:
    home = rookery.home
    for socket in (home.hook_door, home.door):
        socket.unlink()
        (socket / "file").mkdir(parents=True)
        why = f"{socket} is a folder, but Rookery needs this name for a socket. Move it away."
        eventually(lambda why=why: why in home.log.read_text())  # type: ignore[misc]
        if socket == home.hook_door:
            status, doctor = rookery.run("status"), rookery.run("doctor")
            assert why in status.stderr
            assert why.rstrip(".") in doctor.stdout
    up = rookery.run("up")

    assert why in up.stderr
    assert (home.door / "file").is_dir()
    (home.door / "file").rmdir()
    eventually(lambda: answers(rookery))
    assert "Traceback" not in home.log.read_text()


def test_a_deleted_socket_of_tmux_is_made_anew(rookery: Rookery) -> None:
    rookery.start("a")
    home = rookery.home
    server = rookery.tmux("display-message", "-p", "#{pid}")

    home.tmux.unlink()
    home.tmux.mkdir()  # so tmux cannot listen there before attach looks
    keyboard, terminal = pty.openpty()
    refused = subprocess.run(
        [sys.executable, "-m", "rookery", "attach", "a"],
        env=rookery.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(keyboard)
    os.close(terminal)
    home.tmux.rmdir()
    eventually(home.tmux.is_socket)

    assert refused.returncode == 1
    assert "restores its own socket" in refused.stderr
    assert rookery.tmux("display-message", "-p", "#{pid}") == server
    assert rookery.ask("a", "say: again") == "again"


def test_a_second_daemon_is_refused_when_lock_and_socket_were_deleted(rookery: Rookery) -> None:
    rookery.start("a")
    pid = rookery.client.get("status")["pid"]

    rookery.home.lock.unlink()
    rookery.home.door.unlink()
    second = subprocess.run(
        [sys.executable, "-m", "rookery", "up"],
        env=rookery.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    eventually(lambda: answers(rookery))

    assert "already running" in second.stdout + second.stderr
    assert rookery.client.get("status")["pid"] == pid


def test_a_daemon_that_waits_for_tmux_says_so_and_can_be_stopped(rookery: Rookery) -> None:
    rookery.start("a")
    tmux = int(rookery.tmux("display-message", "-p", "#{pid}"))
    rookery.kill()
    os.kill(tmux, signal.SIGSTOP)
    try:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "rookery", "up"],
            env=rookery.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        assert daemon.stdout
        first = daemon.stdout.readline()
        again = rookery.run("up")
        down = rookery.run("down")
        daemon.communicate()
    finally:
        os.kill(tmux, signal.SIGCONT)

    assert "tmux" in first
    assert f"pid {daemon.pid}" in again.stderr
    assert "rookery down" in again.stderr
    assert (down.returncode, down.stdout) == (0, "Rookery is down.\n")
    nothing = rookery.run("down")
    assert (nothing.returncode, "nothing to stop" in nothing.stdout) == (0, True)


def test_of_several_that_start_one_daemon_each_waits_for_it(cold: Rookery) -> None:
    starting = [
        subprocess.Popen(
            [sys.executable, "-m", "rookery", "up", "--detach"],
            env=cold.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        for _ in range(4)
    ]
    said = [each.communicate()[0] for each in starting]
    try:
        assert [each.returncode for each in starting] == [0] * 4, said
        pids = {word for each in said for word in re.findall(r", pid (\d+)", each)}
        assert pids == {str(cold.client.get("status")["pid"])}
    finally:
        cold.run("down")
