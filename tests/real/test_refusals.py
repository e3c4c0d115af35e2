"""What cannot be done as it is asked, or for whom: refused in clear words, and no harm done."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from rookery.model.errors import Answered
from tests.support.real.http import request
from tests.support.real.rookery import SOON, Rookery

pytestmark = pytest.mark.real

MEGABYTE = b"x" * 1_000_000

NAMES = ["a/b", "..", "../../etc", "a\0b", "a\nb", "-rf", "x" * 100_000]


@pytest.mark.spec("A3", "K4")
def test_a_name_that_would_mean_more_elsewhere_names_nothing(rookery: Rookery) -> None:
    rookery.start("one")
    start = {"agent": "demo", "project": str(rookery.project)}

    answers = [
        rookery.post(path, {**body, "name": name})
        for name in NAMES
        for path, body in (("/v1/sessions", start), ("/v1/sessions/one/name", {}))
    ]

    assert {status for status, _ in answers} == {400}
    assert all("A name has letters" in answer["error"]["message"] for _, answer in answers)
    assert max(len(answer["error"]["message"]) for _, answer in answers) < 500
    assert [each["name"] for each in rookery.json("ls", "--all")["sessions"]] == ["one"]


@pytest.mark.spec("A10", "K4")
def test_a_session_that_nobody_knows_is_said_to_be_unknown(rookery: Rookery) -> None:
    for word in ("..", "a\0b", "a\nb", "-rf", "x" * 5_000, "\xff", "%s%n", "' or 1=1 --"):
        attempts: list[Callable[[], object]] = [
            partial(rookery.client.get, "sessions", word),
            partial(rookery.client.post, "sessions", word, "messages", words="hello"),
            partial(rookery.client.post, "sessions", word, "end"),
        ]
        for attempt in attempts:
            with pytest.raises(Answered, match=r"There is no session ['\"]") as refused:
                attempt()
            assert refused.value.code == "session-unknown"


@pytest.mark.spec("K4")
def test_a_path_that_leads_nowhere_is_shown(rookery: Rookery) -> None:
    done = rookery.run("end", "a/b")

    assert done.returncode == 2
    assert "There is nothing at /v1/sessions/a/b/end" in done.stderr


@pytest.mark.spec("K4")
def test_a_message_that_nobody_knows_is_a_clear_error(rookery: Rookery) -> None:
    for word in ("-1", "99999999999999999999999", "x", "1e3"):
        with pytest.raises(Answered, match="Invalid input: ") as refused:
            rookery.client.get("messages", word, "answer", timeout=1.0)
        assert refused.value.code == "bad-input"
    with pytest.raises(Answered, match="There is no such message: 12345") as refused:
        rookery.client.get("messages", "12345", "answer", timeout=1.0)
    assert refused.value.code == "message-unknown"


@pytest.mark.spec("K4")
def test_a_body_without_end_is_refused_and_not_kept(rookery: Rookery) -> None:
    rookery.start("ears")
    before = psutil.Process(rookery.pid).memory_info().rss

    status, answer = streamed(rookery, "/v1/sessions/ears/messages", megabytes=100)

    assert status == 413
    assert answer["error"]["message"] == "At most 8,388,608 bytes at a time."
    assert psutil.Process(rookery.pid).memory_info().rss - before < 40_000_000
    assert rookery.ask("ears", "say: still here") == "still here"


def streamed(rookery: Rookery, path: str, *, megabytes: int) -> tuple[int, Any]:
    """Post a body that does not say how long it will be."""
    with closing(http.client.HTTPConnection("rookery")) as connection:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(SOON)
        connection.sock.connect(str(rookery.home.door))
        headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        body = (MEGABYTE for _ in range(megabytes))
        connection.request("POST", path, body, headers, encode_chunked=True)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.spec("K4")
def test_rubbish_at_the_door_for_hooks_moves_nothing(rookery: Rookery) -> None:
    rookery.start("calm")

    for rest in (b"", b"\xff" * 100, b" demo - - 1\n{", b" demo - - 1\n[]", b" who - - 1\n{}"):
        told(rookery, b"key", rest)

    assert rookery.session("calm")["activity"] == "idle"
    assert len(rookery.json("ls", "--all")["sessions"]) == 1


@pytest.mark.spec("K4")
def test_a_hook_call_without_end_is_cut_off(rookery: Rookery) -> None:
    before = psutil.Process(rookery.pid).memory_info().rss

    answer = told(rookery, b"k demo - - 1\n", *[MEGABYTE] * 100)

    assert answer == b""
    assert psutil.Process(rookery.pid).memory_info().rss - before < 40_000_000
    assert rookery.start("fine")["status"] == "running"


def told(rookery: Rookery, *parts: bytes) -> bytes:
    """Speak as a hook does; return what is answered."""
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(SOON)
        door.connect(str(rookery.home.hook_door))
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                door.sendall(part)
            door.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            return door.recv(100)
    return b""


@pytest.mark.spec("A3", "K4")
def test_an_agent_whose_program_is_missing_is_not_started(cold: Rookery) -> None:
    cold.configure('[agents.claude]\ncommand = ["/no/such/claude"]\n')
    cold.up()

    done = cold.run("start", "--agent", "claude", "--name", "absent")

    assert done.returncode == 2
    assert "'/no/such/claude'. Install it" in done.stderr
    assert cold.json("ls", "--all")["sessions"] == []


@pytest.mark.spec("A3", "K5")
def test_a_token_is_minted_once_under_a_key_and_its_secret_is_kept_nowhere(
    rookery: Rookery,
) -> None:
    _, first = rookery.post("/v1/tokens", {"scope": "reader"}, key="k")
    _, again = rookery.post("/v1/tokens", {"scope": "reader"}, key="k")
    other = rookery.post("/v1/tokens", {"scope": "owner"}, key="k")
    tokens = rookery.json("token", "ls")["tokens"]
    kept = b"".join(file.read_bytes() for file in rookery.home.state.glob("rookery.db*"))
    bearer = f"Bearer {first['secret']}"

    assert [each["id"] for each in tokens if each["scope"] == "reader"] == [
        first["token"]["id"]
    ]
    assert again == {"token": first["token"], "secret": None}
    assert other[0] == 409
    assert first["secret"].encode() not in kept
    assert request(rookery, "GET", "/v1/status", Authorization=bearer)[0] == 200


@pytest.mark.spec("A3")
def test_the_daemons_own_commands_are_done_once_under_a_key(rookery: Rookery) -> None:
    copy = rookery.folder / "copy.db"
    token = rookery.json("token", "mint")["token"]["id"]

    twice = [
        [rookery.post(path, body, key=path) for _ in range(2)]
        for path, body in (
            ("/v1/backup", {"file": str(copy)}),
            ("/v1/prune", {"days": 0}),
            (f"/v1/tokens/{token}/revoke", {}),
        )
    ]

    assert [first[0] for first, _ in twice] == [200, 200, 200]
    assert [first == second for first, second in twice] == [True, True, True]


@pytest.fixture
def shown() -> Iterator[Rookery]:
    """Give a running home where every user of this computer comes by."""
    folder = Path(tempfile.mkdtemp(prefix="rookery-", dir="/tmp"))
    folder.chmod(0o755)
    rookery = Rookery(folder / "shown")
    try:
        rookery.up()
        yield rookery
    finally:
        rookery.clear_away()
        shutil.rmtree(folder)


CALLER = """
import json, os, socket, sys

def read(path):
    return open(path, "rb").read()

def knock(door):
    path, words = door
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(40)
    connection.connect(path)
    connection.sendall(words.encode())
    return connection.recv(100)

def tried(attempt, what):
    try:
        return attempt(what).decode(errors="replace")
    except OSError as error:
        return type(error).__name__

user, files, doors = json.load(sys.stdin)
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
came = [tried(read, file) for file in files], [tried(knock, door) for door in doors]
print(json.dumps(came))
"""

#: A user who owns nothing here.
STRANGER = 65534


def call_as(rookery: Rookery, user: int) -> tuple[list[str], list[str]]:
    """Try, as a user, to read each file and to speak at each door; say what came.

    The connection stays open on the caller's side, as a hook's and a client's does: who closes
    it first gets no answer, whoever that is.
    """
    home = rookery.home
    files = [home.database, home.token, home.log, home.hook]
    hook = '{"hook_event_name": "Stop", "session_id": "nobody", "cwd": "/"}'
    doors = [
        [str(home.door), "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n"],
        [str(home.hook_door), f"key-{user} demo {len(hook)} - - 1 -\n{hook}"],
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-c", CALLER],
        input=json.dumps([user, [str(file) for file in files], doors]),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    read, heard = json.loads(done.stdout)
    return read, heard


@pytest.mark.spec("K1")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can try it as another user")
def test_another_user_gets_neither_in_nor_an_answer(shown: Rookery) -> None:
    closed = call_as(shown, STRANGER)
    for folder in (shown.home.state, shown.home.run):
        folder.chmod(0o755)
    for door in (shown.home.door, shown.home.hook_door):
        door.chmod(0o666)
    opened = call_as(shown, STRANGER)
    _, own = call_as(shown, 0)

    assert closed == (["PermissionError"] * 4, ["PermissionError"] * 2)
    assert opened[0] == ["PermissionError"] * 4
    assert set(opened[1]) <= {"", "ConnectionResetError", "BrokenPipeError"}
    # The same words are answered when their owner says them.
    assert [own[0][:15], own[1]] == ["HTTP/1.1 200 OK", "taken\n"]
    assert shown.json("status")["pid"] == shown.pid
