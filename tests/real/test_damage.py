"""The database, tmux or an agent is taken away or damaged: said, and nothing is lost."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import pytest

from rookery.store.connections import open_file
from tests.support.real.panes import asked_of, pane_pid
from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = pytest.mark.real


def delete(database: Path) -> None:
    for file in database.parent.glob("rookery.db*"):
        file.unlink()


def replace(database: Path) -> None:
    copy = database.with_name("copy")
    with closing(open_file(database)) as db:
        db.execute("vacuum into ?", (str(copy),))
    copy.replace(database)


def delete_log(database: Path) -> None:
    database.with_name("rookery.db-wal").unlink()


@pytest.mark.spec("K4", "K3")
@pytest.mark.parametrize("harm", [delete, replace, delete_log])
def test_a_database_that_is_gone_is_noticed_before_anything_is_lost(
    rookery: Rookery, harm: Callable[[Path], None]
) -> None:
    rookery.start("one")
    rookery.ask("one", "say: kept")
    message = rookery.send("one", "sleep: 1;; say: later")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    saved = rookery.folder / "saved.db"

    harm(rookery.home.database)
    refused = rookery.run("send", "one", "say: never")
    status, doctor = rookery.run("status"), rookery.run("doctor")
    eventually(lambda: list(rookery.home.spool.iterdir()))
    copied = rookery.run("backup", str(saved))
    rookery.stop()
    restored = rookery.run("restore", str(saved))
    rookery.up()

    told = [refused.stderr, status.stderr, doctor.stdout]
    assert [refused.returncode, status.returncode, doctor.returncode] == [1, 1, 1]
    assert all("deleted or replaced" in each and "rookery backup" in each for each in told)
    assert (copied.returncode, restored.returncode) == (0, 0)
    eventually(lambda: rookery.session("one")["activity"] == "idle")
    turns = rookery.json("output", "one")["turns"]
    assert [turn["answer"] for turn in turns] == ["kept", "later"]


@pytest.mark.spec("K4")
def test_a_database_that_comes_back_is_used_again(rookery: Rookery) -> None:
    rookery.start("one")
    away = rookery.home.database.with_name("away")

    rookery.home.database.rename(away)
    refused = rookery.run("send", "one", "say: never")
    away.rename(rookery.home.database)

    assert refused.returncode == 1
    assert rookery.ask("one", "say: here") == "here"
    assert rookery.run("status").returncode == 0


def scribble(database: Path) -> None:
    database.write_bytes(b"These are not the tables you are looking for." * 1000)


def cut(database: Path) -> None:
    os.truncate(database, 5000)


@pytest.mark.spec("K4")
@pytest.mark.parametrize("harm", [scribble, cut])
def test_a_damaged_database_is_said_to_need_a_backup(
    rookery: Rookery, harm: Callable[[Path], None]
) -> None:
    rookery.start("one")
    copy = rookery.folder / "copy.db"
    rookery.run("backup", str(copy))
    rookery.stop()
    harm(rookery.home.database)
    damaged = rookery.home.database.read_bytes()

    done = rookery.run("up")
    restored = rookery.run("restore", str(copy))
    rookery.up()

    assert done.returncode == 1
    assert "rookery restore FILE" in done.stderr
    assert "Traceback" not in done.stderr
    assert restored.returncode == 0
    (kept,) = rookery.home.state.glob("rookery.before-restore-*")
    assert kept.read_bytes() == damaged
    assert rookery.ask("one", "say: again") == "again"


def overwrite(database: Path) -> None:
    """Overwrite all pages with zeros. None may be in the log, which is read first."""
    log = database.with_name("rookery.db-wal")
    with closing(open_file(database)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        db.execute("begin immediate")  # keeps the daemon from writing to the log
        while log.stat().st_size:
            db.execute("rollback")
            db.execute("pragma wal_checkpoint(truncate)")
            db.execute("begin immediate")
        size = database.stat().st_size
        with database.open("r+b") as file:
            file.write(bytes(size))
        db.execute("rollback")


@pytest.mark.spec("K4")
def test_a_database_that_is_damaged_while_it_is_used_is_an_error_each_time(
    rookery: Rookery,
) -> None:
    rookery.start("one")
    copy = rookery.folder / "copy.db"
    rookery.run("backup", str(copy))
    overwrite(rookery.home.database)

    done = [rookery.run("ls"), rookery.run("send", "one", "say: never"), rookery.run("status")]
    rookery.stop()
    rookery.run("restore", str(copy))
    rookery.up()

    assert [each.returncode for each in done] == [1, 1, 1]
    said = [each.stderr for each in done]
    assert all("file is not a database" in each for each in said), said
    assert rookery.ask("one", "say: again") == "again"


@pytest.mark.spec("K4")
def test_a_daemon_whose_database_is_damaged_can_be_diagnosed_and_stopped(
    rookery: Rookery,
) -> None:
    rookery.start("one")
    copy = rookery.folder / "copy.db"
    rookery.run("backup", str(copy))

    def harm() -> bool:
        """Damage the sessions; again if the daemon has just written them to its log."""
        with closing(open_file(rookery.home.database)) as db:
            db.execute("pragma wal_checkpoint(truncate)")
            query = "select rootpage from sqlite_schema where name = 'sessions'"
            (root,) = db.execute(query).fetchone()
            (size,) = db.execute("pragma page_size").fetchone()
        with rookery.home.database.open("r+b") as file:
            file.seek((root - 1) * size)
            file.write(b"\xaa" * size)
        return bool(rookery.run("ls").returncode)

    eventually(harm)

    listed, doctor = rookery.run("ls"), rookery.run("doctor")
    up, foreground = rookery.run("up", "--detach"), rookery.run("up")
    down = rookery.run("down")
    rookery.stop()
    restored = rookery.run("restore", str(copy))
    rookery.up()

    assert "rookery restore FILE" in listed.stderr
    assert doctor.returncode == 1
    assert "rookery restore FILE" in doctor.stdout
    assert "folder state" in doctor.stdout
    for each in (up, foreground):
        assert each.returncode == 1
        assert "hangs" not in each.stderr
        assert "rookery restore FILE" in each.stderr
    assert (down.returncode, restored.returncode) == (0, 0)


#: Seconds in which a command that needs tmux must be answered, whatever tmux does.
ANSWERED = 10.0


@contextmanager
def standing_still(rookery: Rookery) -> Iterator[None]:
    """Stop the home's own tmux server, as a computer does that has no memory left."""
    server = int(rookery.tmux("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server, signal.SIGCONT)


@pytest.mark.spec("B1", "K4")
def test_a_tmux_that_stands_still_holds_nobody_up(rookery: Rookery) -> None:
    rookery.start("one")

    with standing_still(rookery):
        done = []
        for words in (["screen", "one"], ["keys", "one", "up"]):
            since = monotonic()
            done.append(rookery.run(*words))
            assert monotonic() - since < ANSWERED, words
        message = rookery.send("one", "say: patience")
        late = rookery.run(
            "start", "--agent", "demo", "--name", "two", "--wait", "--timeout", "8"
        )
        listed, status = rookery.run("ls"), rookery.json("status")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    assert [each.returncode for each in done] == [1, 1]
    assert all("tmux" in each.stderr for each in done)
    assert (late.returncode, "two is starting" in late.stderr) == (4, True)
    assert "one" in listed.stdout
    assert status["pid"] == rookery.pid
    # It was accepted, and is started once tmux answers again.
    rookery.client.get("sessions", "two", "wait", until="up", timeout=SOON)
    assert rookery.ask("one", "say: on") == "on"
    assert asked_of(rookery, "one") == ["say: patience", "say: on"]


@pytest.mark.spec("A7", "K4")
def test_a_daemon_starts_although_tmux_stands_still(rookery: Rookery) -> None:
    rookery.start("one")

    with standing_still(rookery):
        rookery.kill()
        rookery.up()
        listed = rookery.run("ls")
        message = rookery.send("one", "say: patience")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    assert "one" in listed.stdout
    assert asked_of(rookery, "one") == ["say: patience"]


@pytest.mark.spec("B1")
def test_attaching_needs_a_terminal_and_tmux(rookery: Rookery, tmp_path: Path) -> None:
    rookery.start("one")

    piped = rookery.run("attach", "one")
    keyboard, terminal = pty.openpty()
    alone = subprocess.run(
        [sys.executable, "-m", "rookery", "attach", "one"],
        env={**rookery.environment, "PATH": str(tmp_path)},
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=20,
    )
    os.close(keyboard)
    os.close(terminal)

    assert (piped.returncode, alone.returncode) == (2, 2)
    assert "Attach needs a terminal" in piped.stderr
    assert "The program tmux cannot be run here" in alone.stderr


@pytest.mark.spec("A6", "B4")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP])
def test_an_agent_that_is_killed_is_seen_to_be_so_at_once(
    rookery: Rookery, number: signal.Signals
) -> None:
    rookery.start("mortal", agent="shell", command=["sleep", "600"])
    pid = pane_pid(rookery, "mortal")

    killed_at = datetime.now(UTC)
    os.kill(pid, number)
    over = rookery.ended("mortal")

    seen_at = datetime.fromisoformat(over["ended_at"])
    assert over["status"] == "failed"
    assert over["reason"].startswith(f"it was killed by {number.name}")
    # It takes some milliseconds; a busy computer may take its time.
    assert (seen_at - killed_at).total_seconds() < 5


#: A program that lives on when its terminal is gone.
STUBBORN = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.spec("A4", "K3")
def test_a_program_that_outlives_its_tmux_server_is_kept_and_can_be_ended(
    rookery: Rookery,
) -> None:
    command = [sys.executable, "-c", STUBBORN]
    rookery.start("it", agent="shell", command=command)
    eventually(lambda: "up" in rookery.screen("it"))
    program = pane_pid(rookery, "it")
    rookery.start("other")
    server = int(rookery.tmux("display-message", "-p", "#{pid}"))

    os.kill(server, signal.SIGKILL)
    assert rookery.ended("other")["status"] == "failed"

    assert rookery.session("it")["status"] == "running"
    assert "has no terminal" in rookery.run("why", "it").stdout
    assert "their panes are gone" in rookery.run("doctor").stdout
    os.kill(program, 0)
    done = rookery.run("end", "it")
    assert (done.returncode, rookery.session("it")["status"]) == (0, "killed")
    eventually(lambda: not Path(f"/proc/{program}").exists())
