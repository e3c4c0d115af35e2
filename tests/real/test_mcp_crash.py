"""The tools while the daemon dies and comes back: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.real.http import badge_of
from tests.support.real.rookery import SOON, Rookery
from tests.support.real.toolbox import answer_of, tools

pytestmark = [pytest.mark.real, pytest.mark.spec("I2", "K3", "A3")]


class Wire:
    """Stands between bridge and daemon; the first answer is lost, and the daemon with it."""

    def __init__(self, rookery: Rookery, path: Path) -> None:
        self.path = path
        self.lost = threading.Event()
        self._rookery = rookery
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                with closing(self._listening.accept()[0]) as caller:
                    self._pass_on(caller)

    def _pass_on(self, caller: socket.socket) -> None:
        asked = b""
        while not is_whole(asked):
            asked += caller.recv(65536)
        with socket.socket(socket.AF_UNIX) as daemon, suppress(OSError):
            daemon.settimeout(SOON)
            daemon.connect(str(self._rookery.home.door))
            daemon.sendall(asked)
            answer = b""
            while part := daemon.recv(65536):
                answer += part
            if not self.lost.is_set():
                self._rookery.kill()
                self.lost.set()
                return
            caller.sendall(answer)


def is_whole(asked: bytes) -> bool:
    head, end, body = asked.partition(b"\r\n\r\n")
    length = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")]
    return bool(end) and len(body) >= int(length[0].split(b":")[1])


@pytest.fixture
def wire(rookery: Rookery) -> Iterator[Wire]:
    made = Wire(rookery, rookery.home.run / "wire.sock")
    yield made
    made.close()


def names(rookery: Rookery) -> list[str]:
    return [each["name"] for each in rookery.client.get("sessions")["sessions"]]


def test_what_is_asked_while_the_daemon_is_away_is_done_when_it_is_back(
    rookery: Rookery,
) -> None:
    rookery.start("boss")

    with tools(rookery, badge=badge_of(rookery, "boss")) as boss:
        before = boss.call("list_sessions")["sessions"]
        rookery.kill()
        asked = boss.begin("start_session", name="worker")
        rookery.up()
        made = answer_of(asked.result(SOON))

    assert len(before) == 1
    assert made["listening"] is True
    assert names(rookery) == ["boss", "worker"]


def test_a_command_whose_answer_was_lost_is_not_done_again(
    rookery: Rookery, wire: Wire
) -> None:
    rookery.start("boss")
    call = {"name": "start_session", "arguments": {"message": "say: hello"}}
    message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}
    bridge = subprocess.Popen(
        [sys.executable, "-I", "-S", str(rookery.home.bridge), str(wire.path)],
        env={"ROOKERY_BADGE": badge_of(rookery, "boss")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with bridge:
        assert bridge.stdin
        assert bridge.stdout
        bridge.stdin.write(json.dumps(message) + "\n")
        bridge.stdin.close()
        assert wire.lost.wait(SOON)
        rookery.up()
        (line,) = bridge.stdout.read().splitlines()

    made = json.loads(line)["result"]["structuredContent"]
    assert names(rookery) == ["boss", made["name"]]
