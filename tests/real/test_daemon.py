"""A daemon that dies, comes back, and is treated badly."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from tests.support.real.rookery import Rookery, eventually

pytestmark = pytest.mark.real


@pytest.mark.spec("A7", "K3")
def test_sessions_live_on_while_the_daemon_is_dead(rookery: Rookery) -> None:
    before = rookery.start("survivor")
    rookery.ask("survivor", "say: before")

    rookery.kill()
    rookery.up()
    answer = rookery.ask("survivor", "say: after")

    after = rookery.session("survivor")
    assert answer == "after"
    assert (after["id"], after["tmux_pane"]) == (before["id"], before["tmux_pane"])
    with rookery.database() as db:
        kinds = [row[0] for row in db.execute("select kind from entries order by seq")]
    assert "session-recovered" in kinds


@pytest.mark.spec("A7")
def test_lines_of_a_daemon_that_was_killed_do_not_pile_up(rookery: Rookery) -> None:
    left = subprocess.Popen(
        ["tmux", "-S", str(rookery.home.tmux), "-C", "attach-session", "-t", "=rookery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=rookery.environment,
    )
    eventually(lambda: len(_lines(rookery)) == 3)

    rookery.kill()
    rookery.up()

    assert left.wait(timeout=5) == -9
    assert left.stdin
    left.stdin.close()
    eventually(lambda: len(_lines(rookery)) == 2)


def _lines(rookery: Rookery) -> list[str]:
    return rookery.tmux("list-clients", "-F", "#{client_pid}").split()


@pytest.mark.spec("A7", "C3", "K3")
def test_what_an_agent_did_meanwhile_is_known_afterwards(rookery: Rookery) -> None:
    rookery.start("worker")
    message = rookery.send("worker", "sleep: 1.5;; say: Done while you were away.")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    rookery.kill()
    eventually(lambda: list(rookery.home.spool.iterdir()))
    rookery.up()

    # What was spooled is taken in beside a daemon that already answers.
    def answers() -> list[str]:
        turns = rookery.json("output", "worker")["turns"]
        return [turn["answer"] for turn in turns]

    eventually(lambda: answers() == ["Done while you were away."])
    assert rookery.session("worker")["activity"] == "idle"
    eventually(lambda: not list(rookery.home.spool.iterdir()))


@pytest.mark.spec("A7")
def test_what_died_meanwhile_is_said_to_be_lost(rookery: Rookery) -> None:
    session = rookery.start("lost")
    rookery.start("crashed")
    crashed = rookery.session("crashed")["tmux_pane"]

    rookery.kill()
    rookery.tmux("kill-pane", "-t", str(session["tmux_pane"]))
    rookery.tmux("send-keys", "-t", crashed, "exit: 4", "Enter")
    eventually(
        lambda: rookery.tmux("display-message", "-p", "-t", crashed, "#{pane_dead}") == "1\n"
    )
    rookery.up()

    lost, over = rookery.session("lost"), rookery.ended("crashed")
    assert (lost["status"], lost["reason"]) == ("failed", "lost while the daemon was away")
    assert over["status"] == "failed"
    assert over["reason"].startswith("it exited with status 4")


@pytest.mark.spec("A7")
def test_an_accepted_start_is_carried_out_by_the_next_daemon(rookery: Rookery) -> None:
    body = {"agent": "demo", "name": "promised", "project": str(rookery.project)}
    rookery.client.post("sessions", **body, prompt="say: kept")

    rookery.kill()
    rookery.up()

    rookery.client.get("sessions", "promised", "wait", until="stop", timeout=20)
    turns = rookery.json("output", "promised")["turns"]
    assert [turn["answer"] for turn in turns] == ["kept"]


@pytest.mark.spec("A7", "B1")
def test_what_others_run_is_watched_and_never_touched(rookery: Rookery) -> None:
    rookery.tmux("new-session", "-d", "-s", "mine", "cat")
    rookery.tmux("new-session", "-d", "-s", "rk_stranger", "cat")

    rookery.kill()
    rookery.up()
    rookery.run("end", "--all", "--yes")

    (found,) = rookery.json("ls")["sessions"]
    assert (found["runtime"], found["tmux_session"]) == ("observed", "rk_stranger")
    sessions = rookery.tmux("list-sessions", "-F", "#S").split()
    assert sorted(sessions) == ["mine", "rk_stranger", "rookery"]


@pytest.mark.spec("K4")
def test_a_home_has_one_daemon(rookery: Rookery) -> None:
    again = rookery.run("up")
    status = rookery.json("status")

    assert again.returncode == 0
    assert f"is already running, pid {rookery.pid}" in again.stdout
    assert status["pid"] == rookery.pid


@pytest.mark.spec("B1")
def test_two_homes_never_meet(rookery: Rookery, tmp_path: Path) -> None:
    other = Rookery(tmp_path / "other")
    other.up()
    try:
        rookery.start("same")
        other.start("same")
        other.run("end", "same")

        assert rookery.session("same")["status"] == "running"
        assert other.home.tmux != rookery.home.tmux
    finally:
        other.clear_away()


@pytest.mark.spec("I5")
def test_going_down_leaves_the_agents_and_says_so(rookery: Rookery) -> None:
    session = rookery.start("stays")

    down = rookery.run("down")
    status = rookery.run("status")

    assert "1 session kept running" in down.stdout
    assert status.returncode == 3
    assert "rookery up" in status.stderr
    assert str(session["tmux_session"]) in rookery.tmux("list-sessions", "-F", "#S")


@pytest.mark.spec("I5")
def test_a_detached_daemon_says_what_to_do_next(cold: Rookery) -> None:
    done = cold.run("up", "--detach")

    assert done.returncode == 0
    assert "start demo" in done.stdout
    assert cold.json("status")["sessions"] == 0
    cold.run("down")


@pytest.mark.spec("K1")
def test_everything_of_a_home_is_for_its_owner_alone(rookery: Rookery) -> None:
    rookery.start("private")

    home = rookery.home
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in home.state.rglob("*")}

    assert modes[home.run] == 0o700
    assert modes[home.door] == modes[home.hook_door] == modes[home.database] == 0o600
    assert [path for path, mode in modes.items() if mode & 0o077] == []


@pytest.mark.spec("K4")
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"words": 1}', 400),
        (b'{"words": "x", "more": 1}', 400),
        (b"\xff\xfe", 400),
        (b'"' + b"x" * 100_000_000 + b'"', 413),
    ],
    ids=["cut", "list", "number", "unknown", "bytes", "100 MB"],
)
def test_a_malformed_request_gets_a_clear_error(
    rookery: Rookery, raw: bytes, status: int
) -> None:
    rookery.start("ears")

    found, answer = rookery.post("/v1/sessions/ears/messages", None, raw=raw)

    assert found == status
    assert answer["error"]["code"] == "bad-input"
    assert rookery.session("ears")["activity"] == "idle"


@pytest.mark.spec("K4")
def test_an_unknown_session_is_said_to_be_unknown(rookery: Rookery) -> None:
    done = rookery.run("send", "nobody", "hello")

    assert done.returncode == 5
    assert "There is no session 'nobody'" in done.stderr


@pytest.mark.spec("K4")
def test_without_tmux_it_says_how_to_get_it(cold: Rookery, tmp_path: Path) -> None:
    path = cold.environment["PATH"]
    cold.environment["PATH"] = str(tmp_path)

    done = cold.run("up")
    cold.environment["PATH"] = path

    assert done.returncode == 1
    assert "apt install tmux" in done.stderr


@pytest.mark.spec("K4")
def test_a_broken_configuration_names_the_key(cold: Rookery) -> None:
    cold.configure("[limits]\ntmux_session = 3\n")

    done = cold.run("up")

    assert done.returncode == 1
    assert "there is no key 'limits.tmux_session'" in done.stderr


@pytest.mark.spec("K4")
def test_a_home_that_cannot_be_used_is_named(cold: Rookery) -> None:
    Path(cold.environment["ROOKERY_HOME"]).write_text("a file")

    done = cold.run("up")

    assert done.returncode == 1
    assert "cannot use its home" in done.stderr


@pytest.mark.spec("K4")
def test_a_locked_database_is_an_error_and_not_the_end(rookery: Rookery) -> None:
    rookery.start("patient")
    holder = subprocess.Popen(
        ["sqlite3", str(rookery.home.database)], stdin=subprocess.PIPE, text=True
    )
    assert holder.stdin
    holder.stdin.write(".timeout 5000\nbegin immediate;\n")  # the daemon may be writing
    holder.stdin.flush()
    eventually(lambda: _is_locked(rookery))

    status, answer = rookery.post("/v1/sessions/patient/messages", {"words": "say: hi"})
    holder.communicate()

    assert status == 503
    assert "database is locked" in answer["error"]["message"]
    assert rookery.ask("patient", "say: there") == "there"


def _is_locked(rookery: Rookery) -> bool:
    tried = subprocess.run(
        ["sqlite3", str(rookery.home.database), "begin immediate; rollback;"],
        capture_output=True,
        check=False,
    )
    return tried.returncode != 0


@pytest.mark.spec("K4")
def test_a_killed_tmux_server_is_survived(rookery: Rookery) -> None:
    rookery.start("first")
    server = int(rookery.tmux("display-message", "-p", "#{pid}"))

    os.kill(server, 9)
    over = rookery.ended("first")
    rookery.start("second")

    assert over["status"] == "failed"
    assert rookery.ask("second", "say: still here") == "still here"


@pytest.mark.spec("K4")
def test_a_tmux_server_that_waits_for_ever_for_a_client_does_not_prevent_the_start(
    rookery: Rookery,
) -> None:
    rookery.start("first")
    client = int(rookery.tmux("list-clients", "-F", "#{client_pid}").split()[0])

    os.kill(client, signal.SIGSTOP)
    try:
        rookery.kill()
        rookery.tmux("kill-server")
        rookery.up()
        second = rookery.start("second")
    finally:
        os.kill(client, signal.SIGKILL)

    assert rookery.session("first")["status"] == "failed"
    assert second["status"] == "running"
    assert rookery.ask("second", "say: still here") == "still here"


def _tmux_servers(rookery: Rookery) -> list[int]:
    words = {"new-session", str(rookery.home.tmux)}
    found = psutil.process_iter(["cmdline"])
    return [each.pid for each in found if words <= set(each.info["cmdline"] or ())]


@pytest.mark.spec("A4", "A7")
def test_a_daemon_that_stops_leaves_no_tmux_server_without_agents(rookery: Rookery) -> None:
    rookery.start("one")
    rookery.run("down")
    rookery.reap()
    with_agent = _tmux_servers(rookery)
    rookery.up()
    answer = rookery.ask("one", "say: still here")

    rookery.run("end", "--all", "--yes")
    rookery.run("down")
    rookery.reap()

    assert len(with_agent) == 1
    assert answer == "still here"
    eventually(lambda: not _tmux_servers(rookery))
    rookery.up()
    assert rookery.start("two")["status"] == "running"


@pytest.mark.spec("A7")
def test_a_tmux_server_ends_also_if_a_person_has_swapped_a_pane_with_the_hub(
    rookery: Rookery,
) -> None:
    session = rookery.start("agent")
    rookery.tmux("swap-pane", "-s", session["tmux_pane"], "-t", "rookery:")

    rookery.run("end", "--all", "--yes")
    rookery.run("down")
    rookery.reap()

    eventually(lambda: not _tmux_servers(rookery))


@pytest.mark.spec("K4", "B1")
def test_a_home_whose_name_tmux_would_run_as_a_command_is_only_a_name() -> None:
    # In a short folder: for a long one the sockets, and all that tmux is told, lie elsewhere.
    with TemporaryDirectory() as short:
        rookery = Rookery(Path(short) / "a#(touch ran)#{pid}#[x] 'b'")
        try:
            rookery.up()
            is_inside = rookery.home.run.is_relative_to(short)
            rookery.start("one")
            answer = rookery.ask("one", "say: it works")
            shown = rookery.run("screen", "one").stdout
        finally:
            rookery.clear_away()
        ran = [*Path(short).rglob("ran"), *Path(short).rglob("ran)")]

    assert is_inside
    assert (answer, ran) == ("it works", [])
    assert "it works" in shown


@pytest.mark.spec("I5")
def test_a_changed_configuration_is_named_where_it_matters(rookery: Rookery) -> None:
    rookery.configure("[limits]\ntmux_sessions = 7\n")
    said = "To use it:  rookery down; rookery up -d"

    told = [
        rookery.run("status"),
        rookery.run("ls"),
        rookery.run("start", "demo", "--name", "one"),
        rookery.run("config"),
        rookery.run("config", "check"),
        rookery.run("doctor"),
    ]

    assert [said in each.stderr for each in told[:5]] == [True] * 5
    changed = "config.toml has changed since the daemon started: limits.tmux_sessions"
    assert changed in told[0].stderr
    assert changed in told[5].stdout
