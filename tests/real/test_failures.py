"""Full, failing and read-only disks: said, survived, and nothing half done."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.real.panes import asked_of, pane_pid
from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@dataclass(frozen=True, slots=True)
class Disk:
    """A small one, below a home; what is logged lies on another, and can still be read."""

    folder: Path

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    def fill(self) -> None:
        with suppress(OSError), self._ballast.open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass

    def make_room(self) -> None:
        self._ballast.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nothing be made on it; what is open stays so."""
        mount("--bind", str(self.folder), str(self.folder))
        try:
            mount("-o", "remount,bind,ro", str(self.folder))
            yield
        finally:
            umount(self.folder)


def mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk may be mounted here: {done.stderr.strip()}")


def umount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(cold: Rookery) -> Iterator[Disk]:
    """Put a home, whose daemon does not run yet, on a disk of its own."""
    home = Path(cold.environment["ROOKERY_HOME"])
    mounted: list[Path] = []
    for folder, size in ((home, "16m"), (home / "logs", "4m")):
        folder.mkdir(mode=0o700)
        mount("-t", "tmpfs", "-o", f"size={size},mode=700", "rookery-test", str(folder))
        mounted.append(folder)
    yield Disk(home)
    cold.clear_away()
    for folder in reversed(mounted):
        umount(folder)


def names(rookery: Rookery) -> list[str]:
    return [each["name"] for each in rookery.json("ls", "--all")["sessions"]]


@pytest.mark.spec("K4", "A3")
def test_on_a_full_disk_nothing_is_accepted_and_nothing_half_done(
    cold: Rookery, disk: Disk
) -> None:
    cold.up()
    cold.start("one")
    copy = disk.folder / "copy.db"

    disk.fill()
    refused = [
        cold.run("send", "one", "say: never"),
        cold.run("start", "--agent", "demo", "--name", "two"),
        cold.run("end", "one"),
        cold.run("token", "mint"),
    ]
    copied = cold.run("backup", str(copy))
    listed, status = cold.run("ls"), cold.json("status")
    disk.make_room()
    answer = cold.ask("one", "say: after")
    cold.start("two")

    assert [each.returncode for each in refused] == [1] * 4
    assert all("disk is full" in each.stderr for each in refused)
    assert "disk is full" in copied.stderr
    assert not copy.exists()
    assert "one" in listed.stdout
    assert "This may be out of date. The disk is full" in listed.stderr
    assert status["pid"] == cold.pid
    assert answer == "after"
    assert asked_of(cold, "one") == ["say: after"]
    assert names(cold) == ["one", "two"]


@pytest.mark.spec("K4", "D3", "I5")
def test_a_dialog_that_a_full_disk_keeps_from_being_noted_is_not_denied_to_be_there(
    cold: Rookery, disk: Disk
) -> None:
    cold.up()
    cold.start("one")
    pane = str(cold.session("one")["tmux_pane"])

    disk.fill()
    cold.tmux("send-keys", "-t", pane, "-l", "permission: Bash rm -r build")
    cold.tmux("send-keys", "-t", pane, "Enter")
    eventually(lambda: "1. Yes" in cold.tmux("capture-pane", "-p", "-t", pane))
    eventually(lambda: "disk is full" in cold.run("ls").stderr)
    asked, why = cold.run("permissions"), cold.run("why", "one")
    disk.make_room()

    assert "This may be out of date. The disk is full" in asked.stderr
    assert asked.stdout == ""
    assert "This may be out of date. The disk is full" in why.stdout
    assert "sure" not in why.stdout
    eventually(lambda: "rm -r build" in cold.run("permissions").stdout)
    assert "out of date" not in cold.run("why", "one").stdout


@pytest.mark.spec("K4", "A5")
def test_what_happens_while_the_disk_is_full_is_known_once_there_is_room(
    cold: Rookery, disk: Disk
) -> None:
    cold.up()
    cold.start("victim")
    cold.start("worker")
    cold.start("plain", agent="shell", command=["sh"])
    cold.send("worker", "sleep: 1;; say: All done.")
    cold.send("plain", "sleep 1; echo all 'done'")
    eventually(lambda: cold.session("worker")["activity"] == "working")
    eventually(lambda: cold.session("plain")["activity"] == "working")
    victim = pane_pid(cold, "victim")

    disk.fill()
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: "● All done." in cold.screen("worker"))
    eventually(lambda: "all done" in cold.screen("plain"))
    eventually(lambda: cold.home.log.read_text().count("cannot be written down yet") >= 3)
    before = [cold.session(name)["status"] for name in ("victim", "worker", "plain")]
    disk.make_room()
    over = cold.ended("victim")
    for name in ("worker", "plain"):
        cold.client.get("sessions", name, "wait", until="stop", timeout=20)

    assert before == ["running"] * 3
    assert over["reason"].startswith("it was killed by SIGKILL; its screen ended with:\n")
    assert cold.ask("worker", "say: on") == "on"
    assert cold.ask("plain", "echo on") == "on"
    assert list(cold.home.spool.iterdir()) == []
    assert [file.name for file in cold.home.run.iterdir() if "-" in file.name] == []


@pytest.mark.spec("K4")
@pytest.mark.parametrize("options", [[], ["--detach"]], ids=["", "detached"])
def test_a_daemon_that_finds_no_room_says_so(
    cold: Rookery, disk: Disk, options: list[str]
) -> None:
    disk.fill()

    done = cold.run("up", *options)
    disk.make_room()
    cold.up()

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert cold.start("roomy")["status"] == "running"


@pytest.mark.spec("K4")
@pytest.mark.parametrize("options", [[], ["--detach"]], ids=["", "detached"])
def test_a_home_on_a_read_only_disk_is_named(
    cold: Rookery, disk: Disk, options: list[str]
) -> None:
    cold.up()
    cold.stop()

    with disk.read_only():
        done = cold.run("up", *options)

    assert done.returncode == 1
    assert str(disk.folder) in done.stderr
    assert "Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("K4", "K3")
def test_while_nothing_can_be_made_in_the_home_words_wait(cold: Rookery, disk: Disk) -> None:
    cold.up()
    session = cold.start("one")

    with disk.read_only():
        message = cold.send("one", "say: patience")
        refused = cold.run(
            "start", "--agent", "demo", "--name", "two", "--wait", "--timeout", "20"
        )
        unread = cold.run("screen", "one")
        step, status = cold.step(message)[0], cold.json("status")
    eventually(lambda: cold.step(message)[0] == "acknowledged")

    assert refused.returncode == 1
    assert "Read-only file system" in refused.stdout
    assert unread.returncode == 1
    assert "Traceback" not in unread.stderr
    assert step in {"pending", "sending"}
    assert status["pid"] == cold.pid
    assert cold.ask("one", "say: on") == "on"
    assert asked_of(cold, "one") == ["say: patience", "say: on"]
    assert [each.name for each in cold.home.sessions.iterdir()] == [session["id"]]


@pytest.mark.spec("K4", "A3")
def test_a_disk_that_fails_is_an_error_and_not_the_end(rookery: Rookery) -> None:
    rookery.start("one")

    with failing_writes(rookery.pid):
        refused = rookery.run("send", "one", "say: never")
        not_started = rookery.run("start", "--agent", "demo", "--name", "two")
        listed = rookery.run("ls")

    assert [refused.returncode, not_started.returncode] == [1, 1]
    assert "disk I/O error" in refused.stderr
    assert "one" in listed.stdout
    assert rookery.ask("one", "say: after") == "after"
    assert asked_of(rookery, "one") == ["say: after"]
    assert names(rookery) == ["one"]


@contextmanager
def failing_writes(pid: int) -> Iterator[None]:
    """Let a process write to no file."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
