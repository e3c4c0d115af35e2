"""What was tried against a running daemon, and must not work again."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest

from rookery.model.errors import Answered
from rookery.store import tokens
from tests.support.real.http import badge_of, bearer, port_of, request
from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = pytest.mark.real


def connection(rookery: Rookery) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(rookery)), timeout=SOON)


@pytest.mark.spec("K1", "K4")
def test_many_idle_connections_do_not_stop_the_daemon(rookery: Rookery) -> None:
    port = port_of(rookery)
    with ExitStack() as held:
        for _ in range(400):
            idle = socket.create_connection(("127.0.0.1", port), timeout=SOON)
            held.enter_context(closing(idle))

        assert rookery.start("calm")["status"] == "running"
        open_files = psutil.Process(rookery.pid).num_fds()

    assert open_files < 400


@pytest.mark.spec("K1", "K4")
@pytest.mark.parametrize("line", [b"X: " + b"y" * 1_000_000, b"X: y\r\n" * 200_000])
def test_an_endless_head_is_cut_off_before_it_fills_the_memory(
    rookery: Rookery, line: bytes
) -> None:
    before = psutil.Process(rookery.pid).memory_info().rss

    with connection(rookery) as caller, suppress(ConnectionError):
        caller.sendall(b"GET /v1/status HTTP/1.1\r\n")
        for _ in range(100):
            caller.sendall(line)
        assert caller.recv(1) == b""

    assert psutil.Process(rookery.pid).memory_info().rss - before < 20_000_000


@pytest.mark.spec("C3", "K4")
def test_a_spool_that_is_gone_or_holds_rubbish_is_survived(rookery: Rookery) -> None:
    shutil.rmtree(rookery.home.spool)
    eventually(rookery.home.spool.exists)
    (rookery.home.spool / "0").mkdir()
    (rookery.home.spool / "1").write_bytes(b"\xff" * 100)
    eventually(lambda: not (rookery.home.spool / "1").exists())

    rookery.kill()
    rookery.up()

    assert rookery.start("fine")["status"] == "running"


@pytest.mark.spec("K1")
def test_a_home_that_somebody_else_made_is_refused(cold: Rookery) -> None:
    home = Path(cold.environment["ROOKERY_HOME"])
    home.mkdir(mode=0o777)
    os.chown(home, 65534, 65534)

    done = cold.run("up")

    assert done.returncode == 1
    assert "not a folder of yours" in done.stderr
    os.chown(home, os.getuid(), os.getgid())


@pytest.mark.spec("K1")
@pytest.mark.parametrize("name", ["token", "logs/rookery.log", "daemon.lock"])
def test_a_link_that_was_planted_is_not_followed(cold: Rookery, name: str) -> None:
    victim = cold.folder / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)  # it is refused because it is a link, not because of its mode
    planted = cold.home.state / name
    planted.parent.mkdir(parents=True, mode=0o700)
    planted.symlink_to(victim)

    done = cold.run("up")

    assert done.returncode == 1
    assert victim.read_text() == "precious"


@pytest.mark.spec("K1", "K5")
def test_a_weak_or_empty_token_is_replaced(cold: Rookery) -> None:
    cold.home.prepare()
    cold.home.token.touch(mode=0o600)
    cold.up()

    blank = request(cold, "GET", "/v1/status", Authorization="Bearer  ")
    tab = request(cold, "GET", "/v1/status", Authorization="Bearer \t")

    assert len(cold.home.token.read_text()) >= 32
    assert [blank[0], tab[0]] == [401, 401]


@pytest.mark.spec("K5")
def test_the_owners_token_can_be_taken_back_and_is_made_anew(rookery: Rookery) -> None:
    old = bearer(rookery)
    (owner,) = rookery.json("token", "ls")["tokens"]
    rookery.run("token", "revoke", owner["id"])

    rookery.kill()
    rookery.up()

    assert request(rookery, "GET", "/v1/status", Authorization=old)[0] == 401
    assert request(rookery, "GET", "/v1/status", Authorization=bearer(rookery))[0] == 200


@pytest.mark.spec("K5")
def test_a_process_that_hides_from_its_session_is_not_its_owner(rookery: Rookery) -> None:
    script = rookery.project / "hide.py"
    script.write_text(
        "import os, socket, sys\n"
        "door = socket.socket(socket.AF_UNIX); door.connect(sys.argv[1])\n"
        "if os.fork(): os._exit(0)\n"
        "if os.fork(): os._exit(0)\n"
        "import select; select.select([], [], [], 0.5)\n"
        "door.sendall(b'GET /v1/tokens HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n')\n"
        "open('answer.part', 'wb').write(door.recv(100)); os.rename('answer.part', 'answer')\n"
    )
    command = f"{sys.executable} {script} {rookery.home.door}; sleep 60"

    rookery.start("sly", agent="shell", command=["sh", "-c", command])
    answer = rookery.project / "answer"
    eventually(answer.exists)

    assert b" 200 " not in answer.read_bytes()


@pytest.mark.spec("C4")
def test_a_forged_hook_moves_nobody(rookery: Rookery) -> None:
    victim, other = rookery.start("victim"), rookery.start("other")
    payload = {"session_id": victim["id"], "cwd": "/", "hook_event_name": "PermissionRequest"}
    call = json.dumps({**payload, "tool_name": "Bash", "tool_input": {}}).encode()

    for number, badge in enumerate(["-", badge_of(rookery, "other"), "made-up"]):
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(rookery.home.hook_door))
            door.sendall(f"key-{number} demo {len(call)} {badge} - 1 -\n".encode() + call)
            door.shutdown(socket.SHUT_WR)
            while door.recv(100):
                pass

    assert rookery.session("victim")["activity"] == "idle"
    assert rookery.session(str(other["name"]))["activity"] == "idle"
    with rookery.database() as db:
        parked = db.execute("select count(*) from hooks where error like '%badge%'").fetchone()
    assert parked == (3,)


@pytest.mark.spec("I5", "K4")
def test_the_list_is_there_at_once_however_much_an_agent_asks(rookery: Rookery) -> None:
    rookery.start("wordy")
    rookery.send("wordy", f"question: {'why ' * 20_000}| A | B")
    eventually(lambda: rookery.session("wordy")["activity"] == "question")

    listed = subprocess.run(
        [sys.executable, "-m", "rookery", "ls"],
        env=rookery.environment,
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
    )

    assert "wordy" in listed.stdout


@pytest.mark.spec("K1", "K5")
def test_a_hostile_backup_runs_nothing_and_opens_no_door(rookery: Rookery) -> None:
    rookery.start("model")
    copy, proof = rookery.folder / "copy.db", rookery.folder / "proof"
    rookery.run("backup", str(copy))
    rookery.stop()
    launch = json.dumps({"command": ["/bin/sh", "-c", f"touch {proof}; sleep 60"]})
    with closing(sqlite3.connect(copy)) as db:
        columns = "agent, runtime, computer, since, owner, created_at, last_activity_at"
        db.execute(
            f"insert into sessions (id, name, launch, {columns}) select"  # noqa: S608 - ours
            f" 'e11e11e1-0000-4000-8000-000000000000', 'planted', ?, {columns} from sessions",
            (launch,),
        )
        db.execute(
            "insert into tokens values (?, 'planted', 'owner', null, 'me', '2020-01-01', null)",
            (tokens.digest("planted"),),
        )
        db.commit()

    done = rookery.run("restore", str(copy))
    rookery.up()
    with pytest.raises(Answered, match="not valid"):
        rookery.client_of("planted").get("status")

    assert done.returncode == 0, done.stderr
    assert rookery.session("planted")["status"] == "failed"
    assert rookery.start("next")["status"] == "running"  # so all that was to be started is
    assert not proof.exists()


@pytest.mark.spec("I5", "K4")
def test_a_restore_waits_for_no_answer_of_a_daemon_that_is_there(rookery: Rookery) -> None:
    copy = rookery.folder / "copy #1?.db"
    rookery.run("backup", str(copy))
    rookery.home.door.unlink()

    done = rookery.run("restore", str(copy))

    assert done.returncode == 2
    assert "rookery down" in done.stderr


@pytest.mark.spec("K4")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/sessions/calm/messages", {"words": "\ud800"}),
        ("/v1/sessions", {"agent": "demo", "project": "~nosuchuser"}),
        ("/v1/sessions", {"agent": "demo", "project": "/" + "x" * 5_000}),
        ("/v1/sessions", {"agent": "demo", "project": "/", "model": "\ud800"}),
        ("/v1/prune", {"days": 1e308}),
        ("/v1/backup", {"file": "/\ud800"}),
        ("/v1/nowhere", {}),
    ],
)
def test_odd_values_are_refused_and_not_stumbled_over(
    rookery: Rookery, path: str, body: dict[str, Any]
) -> None:
    rookery.start("calm")

    status, answer = rookery.post(path, body)

    assert 400 <= status < 500
    assert answer["error"]["message"]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Give a folder in which tmux would run a command; short enough for sockets."""
    with TemporaryDirectory(prefix="#(touch proof)") as folder:
        yield Path(folder)


@pytest.mark.spec("K1", "K2")
def test_a_home_with_shell_characters_in_its_name_runs_nothing(
    short_folder: Path,
    cold: Rookery,  # it ends its tmux server first, whose socket is in that folder
) -> None:
    proof = cold.folder / "proof"
    name = "a $(touch proof) `touch proof` 'q' \"d\" ;touch proof; & | > proof #{x} %h \\"
    cold.environment["ROOKERY_HOME"] = str(cold.folder / name)
    cold.environment["XDG_RUNTIME_DIR"] = str(short_folder)
    cold.up()
    assert "#(touch proof)" in str(cold.home.run)

    cold.start("worker")
    answer = cold.ask("worker", "tool: Bash ls;; say: hooks arrive")
    installed = cold.run("hooks", "install", "--agent", "claude", "--yes")
    command = next(iter(_commands(cold.folder / ".claude" / "settings.json")))
    called = subprocess.run(
        ["sh", "-c", command],
        input=b"{}",
        capture_output=True,
        timeout=SOON,
        check=False,
        cwd=cold.folder,
    )

    assert answer == "hooks arrive"
    assert installed.returncode == called.returncode == 0
    found = [each for each in cold.folder.rglob("proof") if each.name == "proof"]
    assert (found, proof.exists(), (cold.project / "proof").exists()) == ([], False, False)


def _commands(settings: Path) -> list[str]:
    """Return the commands that an agent runs as its hooks."""
    hooks = json.loads(settings.read_text())["hooks"]
    return [each["command"] for groups in hooks.values() for g in groups for each in g["hooks"]]
