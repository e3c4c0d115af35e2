"""A person changes the queue of real sessions: withdraw, edit, resend, expire, send at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.real.agent_cases import prompts
from tests.support.real.agents import configure
from tests.support.real.more_agents import waits_at
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def hired(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a running home with real agents on a scripted model."""
    configure(cold, models.url)
    cold.up()
    return cold


def typed_ask(rookery: Rookery, *words: str) -> subprocess.Popen[str]:
    """Type a command that waits for an answer."""
    return subprocess.Popen(
        [sys.executable, "-m", "rookery", "ask", *words],
        env=rookery.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.spec("E6", "I5")
def test_messages_are_withdrawn_and_edited_before_they_are_typed(rookery: Rookery) -> None:
    rookery.start("it", prompt="sleep: 600")
    eventually(lambda: rookery.session("it")["activity"] == "working")
    first, second, third = (rookery.send("it", f"say: {each}") for each in ("1", "2", "3"))

    removed = rookery.run("inbox", "rm", str(first)).stdout
    edited = rookery.run(
        "inbox", "edit", str(second), "--file", "-", words_in="say: two"
    ).stdout
    listed = rookery.run("inbox", "it").stdout
    rookery.run("interrupt", "it")
    eventually(lambda: rookery.step(third)[0] == "acknowledged")
    shown = json.loads(rookery.run("inbox", "--all", "--json").stdout)["letters"]

    assert (removed, edited) == (f"Withdrew {first}.\n", f"Changed {second}.\n")
    assert listed.count("\n") == 4
    assert [each["step"] for each in shown] == ["withdrawn"]
    prompts = [
        turn["prompt"] for turn in rookery.client.get("sessions", "it", "turns")["turns"]
    ]
    assert prompts == ["sleep: 600", "say: two\n\nsay: 3"]


@pytest.mark.spec("E6", "I5")
def test_a_command_that_waits_for_the_answer_ends_when_its_message_is_withdrawn(
    rookery: Rookery,
) -> None:
    rookery.start("it", prompt="sleep: 600")
    eventually(lambda: rookery.session("it")["activity"] == "working")
    asking = typed_ask(rookery, "it", "say: never")
    eventually(lambda: rookery.client.get("inbox")["letters"])
    (letter,) = rookery.client.get("inbox")["letters"]

    rookery.run("inbox", "rm", str(letter["message"]))
    _, complaint = asking.communicate(timeout=30)

    assert asking.returncode == 1
    assert "was withdrawn by person" in complaint


@pytest.mark.spec("E6", "I5", "K3")
def test_a_message_expires_also_while_no_daemon_runs(rookery: Rookery) -> None:
    rookery.start("it", prompt="sleep: 600")
    eventually(lambda: rookery.session("it")["activity"] == "working")
    rookery.run("send", "it", "--expire", "2s", "say: too late")
    eventually(lambda: "expired before it could be sent" in rookery.run("inbox").stdout)
    rookery.run("send", "it", "--expire", "1s", "say: never")
    rookery.kill()
    rookery.up()

    eventually(
        lambda: rookery.run("inbox").stdout.count("expired before it could be sent") == 2
    )


@pytest.mark.spec("B0", "B2", "E6")
def test_claude_takes_an_urgent_message_into_its_turn(
    hired: Rookery, models: ModelServer
) -> None:
    hired.start("it", agent="claude")
    hired.send("it", "gate: g;; say: first")
    eventually(lambda: waits_at(models, "g"))
    hired.send("it", "say: last")

    sent = hired.run("send", "it", "--now", "say: urgent").stdout
    during = hired.session("it")["activity"]
    models.open_gate("g")
    eventually(lambda: hired.client.get("inbox")["letters"] == [])
    hired.run("wait", "it", "--timeout", "60")

    assert (sent, during) == ("Sent into the turn that is running.\n", "working")
    assert prompts(hired, "it") == ["gate: g;; say: first", "say: urgent", "say: last"]


@pytest.mark.spec("B0", "B2", "E6")
@pytest.mark.parametrize("agent", ["codex", "demo"])
def test_an_agent_that_takes_no_words_in_a_turn_is_interrupted_for_an_urgent_message(
    hired: Rookery, models: ModelServer, agent: str
) -> None:
    hired.start("it", agent=agent)
    hired.send("it", "sleep: 600" if agent == "demo" else "gate: g;; say: first")
    eventually(lambda: agent == "demo" or waits_at(models, "g"))
    eventually(lambda: hired.session("it")["activity"] == "working")
    hired.send("it", "say: last")

    urgent = json.loads(hired.run("send", "it", "--now", "--json", "say: urgent").stdout)["id"]
    eventually(lambda: hired.step(urgent)[0] == "acknowledged")
    eventually(lambda: hired.client.get("inbox")["letters"] == [])
    hired.run("wait", "it", "--timeout", "60")

    turns = hired.client.get("sessions", "it", "turns")["turns"]
    assert [(turn["answer"], turn["how"]) for turn in turns][1:] == [
        ("urgent", "finished"),
        ("last", "finished"),
    ]
    assert turns[0]["how"] == "interrupted"


@pytest.mark.spec("B2", "B5")
@pytest.mark.parametrize("words", ["a\tb  ", "one\ntwo\nthree", "zero\u200bwidth cafe\u0301"])
def test_after_an_interrupt_of_claude_what_was_queued_is_answered(
    hired: Rookery, models: ModelServer, words: str
) -> None:
    hired.start("it", agent="claude")
    hired.send("it", f"gate: g;; say: {words}")
    eventually(lambda: waits_at(models, "g"))
    queued = hired.send("it", "say: queued")

    hired.run("interrupt", "it")
    eventually(lambda: hired.step(queued)[0] == "acknowledged")

    assert hired.ask("it", "say: after") == "after"
    assert hired.client.get("inbox")["letters"] == []
