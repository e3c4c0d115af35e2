"""Messages to a Codex in a terminal through Codex's own queue: nothing is typed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]


@pytest.fixture
def codex(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a Codex in a terminal that gets its messages through its queue."""
    configure(cold, models.url)
    settings = cold.home.settings
    settings.write_text(
        settings.read_text().replace("[agents.codex]\n", '[agents.codex]\nmessages = "queue"\n')
    )
    cold.up()
    cold.start("it", agent="codex")
    cold.ask("it", "say: Typed, because its conversation is not known yet.")
    return cold


def message_of(rookery: Rookery, number: int) -> dict[str, Any]:
    found: dict[str, Any] = rookery.client.get("messages", str(number))["message"]
    return found


def prompts(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        query = "select prompt from turns order by started_by"
        return [prompt for (prompt,) in db.execute(query)]


def wait_for_answer(rookery: Rookery, message: int) -> str:
    turn = rookery.client.get("messages", str(message), "answer", timeout=60)
    return str(turn["answer"])


@pytest.mark.spec("B0", "G7")
def test_a_message_arrives_although_a_draft_is_in_the_box(codex: Rookery) -> None:
    pane = str(codex.session("it")["tmux_pane"])
    codex.tmux("send-keys", "-t", pane, "-l", "half a draft")
    eventually(lambda: "half a draft" in codex.screen("it"))
    message = codex.send("it", "say: Past the draft.\n$(not run) \"quoted\" 'text'")

    assert wait_for_answer(codex, message) == "Past the draft."
    arrived = message_of(codex, message)
    assert (arrived["way"], arrived["step"]) == ("queue", "acknowledged")
    with codex.database() as db:
        ((kind,),) = db.execute("select kind from entries where seq = ?", (arrived["receipt"],))
    assert kind == "turn-started"
    assert "half a draft" in codex.screen("it")
    assert len(prompts(codex)) == 2


@pytest.mark.spec("G7", "K3")
def test_a_daemon_that_dies_while_the_queue_has_a_message_sends_it_once(
    codex: Rookery,
) -> None:
    message = codex.send("it", "say: Once.")
    eventually(lambda: codex.step(message)[0] in {"pasted", "submitted", "acknowledged"})
    codex.kill()
    codex.up()

    assert wait_for_answer(codex, message) == "Once."
    assert codex.ask("it", "say: And on.") == "And on."
    assert prompts(codex)[1:] == ["say: Once.", "say: And on."]


@pytest.mark.spec("G7")
def test_the_first_message_and_a_command_are_typed(codex: Rookery) -> None:
    command = codex.send("it", "/status")
    eventually(lambda: codex.step(command)[0] == "acknowledged")

    assert message_of(codex, 1)["way"] == "keys"
    assert message_of(codex, command)["way"] == "keys"
