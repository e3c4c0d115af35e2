"""What is tracked of a session, in our words and in those of other tools."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests.support.real.rookery import SOON, Rookery

pytestmark = pytest.mark.real


def status(rookery: Rookery) -> dict[str, Any]:
    """Ask as other tools do: one GET, no version in its path."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SOON)
        connection.connect(str(rookery.home.door))
        connection.sendall(
            b"GET /status HTTP/1.1\r\nHost: rookery\r\nConnection: close\r\n\r\n"
        )
        while part := connection.recv(65536):
            answer += part
    found: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return found


@pytest.mark.spec("C6")
def test_tools_denials_and_activity_are_tracked(rookery: Rookery) -> None:
    rookery.home.rules.write_text('[[deny]]\ninput.command = "rm *"\n')
    session = rookery.start("worker")
    rookery.ask("worker", "tool: Bash ls;; tool: Bash rm -r x;; tool: Read file;; say: Done.")

    found = status(rookery)

    (tracked,) = found["sessions"]
    assert found["count"] == 1
    assert tracked["sessionId"] == session["native_id"]
    assert tracked["cwd"] == str(rookery.project.resolve())
    assert (tracked["state"], tracked["lastToolName"]) == ("idle", "Read")
    assert (tracked["toolCount"], tracked["denialCount"]) == (3, 1)
    assert tracked["startedAt"].startswith("20")
    assert tracked["lastActivity"] > 1_700_000_000_000
    assert tracked["label"]


@pytest.mark.spec("C8", "I5")
def test_a_session_can_be_asked_on_what_grounds_it_is_what_it_is(rookery: Rookery) -> None:
    rookery.start("worker")
    rookery.ask("worker", "say: Done.")

    said = rookery.run("why", "worker").stdout
    found = rookery.json("why", "worker")

    assert said.startswith("worker: idle for ")
    assert "This is sure." in said
    assert "hook        idle" in said
    assert [each["source"] for each in found["evidence"]] == ["hook"]
    assert found["evidence"][0]["detail"] == "Stop"
