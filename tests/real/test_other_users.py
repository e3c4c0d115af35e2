"""A process of another user that can reach the daemon's sockets is not answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.programs.hook import TAKEN
from tests.support.real.rookery import Rookery

pytestmark = [
    pytest.mark.real,
    pytest.mark.spec("K1"),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can run a client as another user"),
]

#: Sends its standard input to a socket as some user, and prints what is answered. It enters the
#: folder first, as the folders above it are closed to others.
CLIENT = """
import os, socket, sys
folder, name, user = sys.argv[1:]
os.chdir(folder)
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
with socket.socket(socket.AF_UNIX) as connection:
    connection.settimeout(30)
    connection.connect(name)
    try:
        connection.sendall(sys.stdin.buffer.read())
        print(connection.recv(100).hex())
    except (ConnectionResetError, BrokenPipeError):
        print("")
"""

OWNER, STRANGER = 0, 65534

REQUEST = b"GET /v1/status HTTP/1.1\r\nHost: rookery\r\n\r\n"


def hook_call(native_id: str) -> bytes:
    told = {"session_id": native_id, "cwd": "/x", "hook_event_name": "SessionStart"}
    payload = json.dumps(told).encode()
    key = f"{os.getpid():020}-{native_id}"
    return f"v2 {key} claude {len(payload)} - - - -\n".encode() + payload


def answer(door: Path, call: bytes, user: int) -> bytes:
    done = subprocess.run(
        [sys.executable, "-I", "-c", CLIENT, door.parent, door.name, str(user)],
        input=call,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return bytes.fromhex(done.stdout.decode())


@pytest.fixture
def open_doors(rookery: Rookery) -> Rookery:
    """Let every user connect, so that the check of the uid is all that is left."""
    for door in (rookery.home.door, rookery.home.hook_door):
        door.parent.chmod(0o711)
        door.chmod(0o666)
    return rookery


def test_the_door_answers_its_own_user_only(open_doors: Rookery) -> None:
    door = open_doors.home.door

    assert answer(door, REQUEST, OWNER).startswith(b"HTTP/1.1 200")
    assert answer(door, REQUEST, STRANGER) == b""


def test_the_door_for_hooks_takes_calls_of_its_own_user_only(open_doors: Rookery) -> None:
    door = open_doors.home.hook_door

    own = answer(door, hook_call("0" * 16), OWNER)
    theirs = answer(door, hook_call("1" * 16), STRANGER)

    assert (own, theirs) == (TAKEN, b"")
    (known,) = open_doors.client.get("sessions", all=True)["sessions"]
    assert known["native_id"] == "0" * 16
