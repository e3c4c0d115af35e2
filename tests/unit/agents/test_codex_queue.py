"""Codex's message queue behind an app-server that answers some requests only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rookery.agents.codex.driver import queue
from rookery.agents.codex.driver.queue import CodexQueue
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.message_queue import QueueBroken
from rookery.model.facts import SessionId

pytestmark = [pytest.mark.anyio, pytest.mark.spec("G7")]

#: Answers requests of the methods that are its arguments, and no others.
SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") in sys.argv[1:]:
        print(json.dumps({"id": request["id"], "result": {}}), flush=True)
"""


def queue_that_answers(folder: Path, *methods: str) -> CodexQueue:
    argv = (sys.executable, "-c", SERVER, *methods)
    return CodexQueue(DriverLaunch(SessionId("it"), argv, {}, folder), "thread")


async def test_an_addition_without_an_answer_may_have_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "QUEUE_TIMEOUT_S", 2.0)

    with pytest.raises(QueueBroken, match="does not answer"):
        await queue_that_answers(tmp_path, "initialize").add("receipt", "Words.")


async def test_an_app_server_that_does_not_come_up_has_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "QUEUE_TIMEOUT_S", 0.2)

    with pytest.raises(DriverError, match="does not answer") as raised:
        await queue_that_answers(tmp_path).add("receipt", "Words.")

    assert not isinstance(raised.value, QueueBroken)
