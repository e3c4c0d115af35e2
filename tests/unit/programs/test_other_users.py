"""A program of another user that listens where the daemon should: it is told nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.client import Client
from rookery.model.errors import HomeUnusable
from rookery.programs import hook, mcp_bridge

pytestmark = [
    pytest.mark.spec("K1"),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can listen as another user"),
]

#: Listens, says so, and says on standard output what it was told until it is closed.
LISTENER = """
import os, socket, sys
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
user = int(sys.argv[2])
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
door.listen()
print("ready", flush=True)
while True:
    connection, _ = door.accept()
    told = connection.recv(65536)
    print(len(told), flush=True)
    connection.sendall(b"taken\\nSAID")
    connection.close()
"""

STRANGER = 65534


class Listener:
    def __init__(self, door: Path, user: int) -> None:
        self.door, self.is_own = door, user == 0
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", LISTENER, str(door), str(user)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def heard(self) -> list[str]:
        """Stop it, and return how many bytes each caller sent."""
        self._process.kill()
        said, _ = self._process.communicate(timeout=60)
        return said.split()


@pytest.fixture(params=[STRANGER, 0], ids=["stranger", "own"])
def listener(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Listener]:
    listener = Listener(tmp_path / "door", request.param)
    yield listener
    listener.heard()


def test_the_client_sends_nothing_to_another_user(listener: Listener) -> None:
    client = Client(listener.door, badge="a badge", timeout_s=20.0)

    with pytest.raises(Exception) as refused:  # noqa: PT011 - its kind is looked at below
        client.post("sessions", words="secret")

    assert isinstance(refused.value, HomeUnusable) is not listener.is_own
    if not listener.is_own:
        assert f"uid {STRANGER}" in str(refused.value)
        assert set(listener.heard()) <= {"0"}


def test_a_hook_neither_tells_nor_believes_another_user(
    listener: Listener, tmp_path: Path
) -> None:
    (tmp_path / "spool").mkdir()
    words = [sys.executable, "-I", "-S", hook.__file__]
    done = subprocess.run(
        [*words, str(listener.door), str(tmp_path / "spool"), "demo"],
        input=b'{"hook_event_name": "Stop"}',
        capture_output=True,
        check=True,
        timeout=60,
    )

    if listener.is_own:
        assert done.stdout == b"SAID"
    else:
        assert done.stdout == b""
        assert list((tmp_path / "spool").iterdir())
        assert set(listener.heard()) <= {"0"}


def test_the_bridge_of_tools_shows_no_badge_to_another_user(
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(mcp_bridge, "RESTART_TIMEOUT_SECONDS", 0.0)
    bridge = mcp_bridge.Bridge(str(listener.door), "a badge")
    asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    bridge._ask(json.dumps(asked).encode(), asked, "key")  # noqa: SLF001 - what a line leads to

    heard = set(listener.heard())
    assert (heard <= {"0"}) is not listener.is_own
    assert b"did not answer" in capfdbinary.readouterr().out
