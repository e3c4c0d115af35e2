"""OpenCode without a terminal, through the daemon."""

from __future__ import annotations

import pytest

from tests.support.real.more_agents import SLOWLY, prepare, waits_at
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.more_agents, pytest.mark.timeout(300)]


@pytest.fixture
def opencode(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a running Rookery with a driven session of OpenCode."""
    prepare(cold, models)
    cold.up()
    start = {"agent": "opencode", "runtime": "opencode", "model": "fake/fake-model"}
    cold.client.post("sessions", name="it", project=str(cold.project), **start)
    cold.client.get("sessions", "it", "wait", until="up", timeout=SLOWLY)
    return cold


def allow(rookery: Rookery) -> dict[str, object]:
    """Wait for a permission request, and allow it."""
    eventually(lambda: rookery.json("permissions")["requests"])
    (request,) = rookery.json("permissions")["requests"]
    rookery.run("allow", request["id"])
    found: dict[str, object] = request
    return found


def answer(rookery: Rookery, message: int) -> str:
    turn = rookery.client.get("messages", str(message), "answer", timeout=SLOWLY)
    return str(turn["answer"])


@pytest.mark.spec("D2", "G3", "G6")
def test_a_driven_opencode_asks_through_its_server_and_answers(opencode: Rookery) -> None:
    hidden = opencode.send("it", 'bash: echo "[$OPENCODE_SERVER_PASSWORD]";; result:')
    request = allow(opencode)

    assert request["tool"] == "bash"
    # Its commands must not be able to answer what it asks.
    assert answer(opencode, hidden).startswith("[]")
    assert opencode.ask("it", "say: Twice.", timeout=SLOWLY) == "Twice."
    assert opencode.session("it")["runtime"] == "opencode"


@pytest.mark.spec("A7", "K3")
def test_a_killed_daemon_does_not_end_a_turn_and_records_it_once(
    opencode: Rookery, models: ModelServer
) -> None:
    message = opencode.send("it", "say: Begun.;; gate: later;; say: Survived.")
    eventually(lambda: waits_at(models, "later"))
    opencode.kill()
    models.open_gate("later")
    opencode.up()

    assert answer(opencode, message).endswith("Survived.")
    with opencode.database() as db:
        kinds = [kind for (kind,) in db.execute("select kind from entries")]
    assert kinds.count("turn-started") == kinds.count("turn-ended") == 1
