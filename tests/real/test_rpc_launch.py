"""The real Claude Code, launched and read by the methods that tools for it already use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import SOON, Rookery
from tests.support.real.rpc import RpcConnection
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.spec("I3"), pytest.mark.timeout(300)]


@pytest.fixture
def rpc(cold: Rookery, models: ModelServer) -> Iterator[RpcConnection]:
    configure(cold, models.url)
    cold.up()
    with RpcConnection(cold) as connection:
        yield connection
        # Without sessions, the driver host ends with the daemon.
        for each in connection.result("list")["sessions"]:
            connection.result("end", session=each["id"])
            connection.result("wait", session=each["id"], until="end", timeout=SOON)


@pytest.mark.spec("G1", "G2")
def test_a_session_of_one_turn_is_launched_read_and_continued(
    cold: Rookery, rpc: RpcConnection
) -> None:
    launched = rpc.result(
        "claude-code.launch",
        prompt="say: One;; say: Two",
        name="once",
        workdir=str(cold.project),
        maxBudgetUsd=1,
        systemPrompt="Be brief.",
        multiTurnDisabled=True,
    )
    rpc.result("wait", session="once", until="end", timeout=SOON)
    (listed,) = rpc.result("claude-code.sessions", status="completed")["sessions"]
    output = rpc.result("claude-code.output", id=launched["id"])
    again = rpc.result(
        "claude-code.launch", prompt="say: Three", resumeSessionId=listed["claudeSessionId"]
    )
    rpc.result("wait", session=again["id"], timeout=SOON)
    more = rpc.result("claude-code.output", session=again["id"])
    killed = rpc.result("claude-code.kill", session=again["id"])
    stats = rpc.result("claude-code.stats")

    assert launched["workdir"] == str(cold.project)
    assert (listed["multiTurn"], listed["prompt"]) == (False, "say: One;; say: Two")
    assert listed["completedAt"] >= listed["startedAt"]
    assert listed["costUsd"] > 0
    assert (output["status"], output["lines"][-1]) == ("completed", output["result"][-3:])
    assert "Two" in output["result"]
    assert (more["status"], more["result"]) == ("running", "Three")
    assert killed["status"] in {"closing", "killed"}
    assert stats["totalLaunched"] == 2
    assert stats["totalCostUsd"] >= listed["costUsd"]
    assert stats["mostExpensive"]["name"] in {listed["name"], again["name"]}


@pytest.mark.spec("G3")
def test_a_launched_session_goes_on_with_messages(rpc: RpcConnection) -> None:
    launched = rpc.result("claude-code.launch", prompt="say: One")
    message = rpc.result("send", session=launched["id"], words="say: Two")
    rpc.result("answer", message=message["id"], timeout=SOON)
    output = rpc.result("claude-code.output", session=launched["id"], full=True)
    shown = rpc.result("show", session=launched["id"])

    assert output["lines"] == ["One", "Two"]
    assert (shown["runtime"], shown["origin"]) == ("sdk", "gateway")
