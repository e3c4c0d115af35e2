"""The bridge as an agent runs it: another process, another interpreter, no site."""

from __future__ import annotations

import ast
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from rookery.programs import mcp_bridge

SOON = 20


class Daemon:
    """Answers each request with the next of its answers; an empty one cuts it off."""

    def __init__(self, door: Path, *bodies: bytes) -> None:
        self.asked: list[tuple[dict[str, str], Any]] = []
        self._bodies = bodies
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(door))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            for body in self._bodies:
                with closing(self._listening.accept()[0]) as caller:
                    self.asked.append(take(caller))
                    if body:
                        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
                        caller.sendall(head + body)


def take(caller: socket.socket) -> tuple[dict[str, str], Any]:
    got = b""
    while b"\r\n\r\n" not in got:
        got += caller.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    headers = {name.lower(): value for name, _, value in lines}
    while len(body) < int(headers["content-length"]):
        body += caller.recv(65536)
    return headers, json.loads(body)


@pytest.fixture
def door(tmp_path: Path) -> Path:
    return tmp_path / "door"


@pytest.fixture
def daemons() -> Iterator[list[Daemon]]:
    made: list[Daemon] = []
    yield made
    for each in made:
        each.close()


def run(door: Path, *messages: object, badge: str = "") -> list[Any]:
    """Say something to the bridge; return what it answers."""
    lines = "".join(f"{json.dumps(each)}\n" for each in messages)
    done = subprocess.run(
        [sys.executable, "-I", "-S", mcp_bridge.__file__, str(door)],
        input=lines,
        env={"ROOKERY_BADGE": badge} if badge else {},
        capture_output=True,
        text=True,
        timeout=SOON * 4,
        check=False,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def asks(number: int, method: str = "ping", **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answers(number: int, **result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


@pytest.mark.spec("I2")
def test_a_request_goes_to_the_daemon_with_the_badge_and_its_answer_comes_back(
    door: Path, daemons: list[Daemon]
) -> None:
    daemons.append(Daemon(door, answers(1, done=True)))

    (said,) = run(door, asks(1, "tools/list"), badge="secret")

    ((headers, asked),) = daemons[0].asked
    assert said["result"] == {"done": True}
    assert asked["method"] == "tools/list"
    assert headers["authorization"] == "Bearer secret"


@pytest.mark.spec("I2", "K3")
def test_a_request_that_was_cut_off_is_asked_again_under_the_same_key(
    door: Path, daemons: list[Daemon]
) -> None:
    daemons.append(Daemon(door, b"", b"", answers(1)))

    (said,) = run(door, asks(1, "tools/call", name="start_session"))

    keys = [headers["idempotency-key"] for headers, _ in daemons[0].asked]
    assert said["result"] == {}
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_two_requests_and_two_bridges_have_keys_of_their_own(
    door: Path, daemons: list[Daemon]
) -> None:
    daemons.append(Daemon(door, *(answers(1) for _ in range(4))))

    for _ in range(2):
        run(door, asks(1), asks(1))

    keys = {headers["idempotency-key"] for headers, _ in daemons[0].asked}
    assert len(keys) == 4


def test_a_notification_gets_no_line(door: Path) -> None:
    assert run(door, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == []


def test_who_is_turned_away_is_told_why(door: Path, daemons: list[Daemon]) -> None:
    refusal = {"error": {"code": "unauthorized", "message": "This token is not valid."}}
    daemons.append(Daemon(door, json.dumps(refusal).encode()))

    (said,) = run(door, asks(9))

    assert said == {
        "jsonrpc": "2.0",
        "id": 9,
        "error": {"code": mcp_bridge.FAILED, "message": "This token is not valid."},
    }


@pytest.mark.spec("I2")
def test_each_age_of_the_protocol_is_told_in_the_head(
    door: Path, daemons: list[Daemon]
) -> None:
    daemons.append(Daemon(door, answers(1), answers(2)))

    meta = {mcp_bridge.VERSION: "2026-07-28\r\nX-Evil: 1"}
    run(door, asks(1, "tools/call", name="list_sessions", _meta=meta))

    ((headers, _),) = daemons[0].asked
    assert headers["mcp-protocol-version"] == "2026-07-28X-Evil: 1"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "list_sessions")
    assert "x-evil" not in headers


@pytest.mark.spec("I2", "K4")
def test_where_nobody_ever_answers_it_says_what_to_do(
    door: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(mcp_bridge, "RESTART_TIMEOUT_SECONDS", 0.0)
    bridge = mcp_bridge.Bridge(str(door), "")

    bridge._ask(b"{}", asks(3), "key")  # noqa: SLF001 - the whole of it would read our input

    said = json.loads(capfdbinary.readouterr().out)
    assert said["id"] == 3
    assert "rookery up" in said["error"]["message"]


def test_the_bridge_needs_nothing_but_what_comes_with_python() -> None:
    tree = ast.parse(Path(mcp_bridge.__file__).read_text())
    names = {
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }

    assert {each.partition(".")[0] for each in names} <= sys.stdlib_module_names
