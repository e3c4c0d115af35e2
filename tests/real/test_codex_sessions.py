"""Codex without a terminal, through the daemon: ``rookery start codex --runtime codex``."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

ESCALATED = (
    'tool: exec_command {"cmd": "touch outside.txt",'
    ' "sandbox_permissions": "require_escalated", "justification": "It is needed."}'
)


@pytest.fixture
def codex(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a running Rookery with a driven session of Codex."""
    configure(cold, models.url)
    cold.up()
    cold.start("it", agent="codex", runtime="codex")
    return cold


def waits_at(models: ModelServer, gate: str) -> bool:
    return any(record.gate == gate for record in models.log)


def steps(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        return [step for (step,) in db.execute("select step from messages order by id")]


@pytest.mark.spec("G3", "G6")
def test_a_driven_codex_takes_messages_and_answers(codex: Rookery) -> None:
    answer = codex.ask("it", "bash: echo hi;; say: Done.")
    again = codex.ask("it", "say: Twice.")

    session = codex.session("it")
    assert (answer, again) == ("Done.", "Twice.")
    assert session["runtime"] == "codex"
    assert session["activity"] == "idle"
    assert session["last_tool"] == "Bash"
    assert session["native_id"]
    assert steps(codex) == ["acknowledged", "acknowledged"]


@pytest.mark.spec("D2")
def test_a_permission_is_asked_and_answered_through_the_protocol(codex: Rookery) -> None:
    message = codex.send("it", f"{ESCALATED};; say: Made.")
    eventually(lambda: codex.json("permissions")["requests"])
    (request,) = codex.json("permissions")["requests"]
    codex.run("allow", request["id"])
    codex.client.get("messages", str(message), "answer", timeout=40)

    assert request["tool"] == "Bash"
    assert request["input"]["command"] == "touch outside.txt"
    assert (codex.project / "outside.txt").exists()


@pytest.mark.spec("D1")
def test_a_rule_allows_no_command_in_another_folder(cold: Rookery, models: ModelServer) -> None:
    outside = cold.folder / "elsewhere"
    outside.mkdir()
    configure(cold, models.url)
    cold.home.config.mkdir(parents=True, exist_ok=True)
    cold.home.rules.write_text('[[allow]]\ntool = "Bash"\ninput.command = "touch *"\n')
    cold.up()
    cold.run("mode", "remote")
    cold.start("it", agent="codex", runtime="codex")
    elsewhere = ESCALATED.replace("{", f'{{"workdir": "{outside}", ')
    cold.send("it", f"{elsewhere};; say: Made.")

    eventually(lambda: cold.json("permissions")["requests"] or list(outside.iterdir()))

    (request,) = cold.json("permissions")["requests"]
    assert request["folder"] == str(outside)
    assert list(outside.iterdir()) == []


@pytest.mark.spec("D1")
def test_a_rule_denies_a_call_that_codex_runs_unasked(codex: Rookery) -> None:
    codex.home.rules.write_text(
        '[[deny]]\nname = "none"\ntool = "Bash"\ninput.command = "touch *"\nreason = "Never."\n'
    )

    answer = codex.ask("it", "bash: touch denied.txt;; result:")

    assert "Never." in answer
    assert not (codex.project / "denied.txt").exists()


@pytest.mark.spec("G3")
def test_an_interrupt_stops_the_turn(codex: Rookery, models: ModelServer) -> None:
    codex.send("it", "say: Begun.;; gate: never;; say: Not reached.")
    eventually(lambda: waits_at(models, "never"))
    codex.run("interrupt", "it")
    eventually(lambda: codex.session("it")["activity"] == "idle")

    assert codex.ask("it", "say: And on.") == "And on."


@pytest.mark.spec("A7", "K3")
def test_a_killed_daemon_does_not_end_a_turn_and_records_it_once(
    codex: Rookery, models: ModelServer
) -> None:
    message = codex.send("it", "bash: echo one;; gate: later;; say: Survived.")
    eventually(lambda: waits_at(models, "later"))
    codex.kill()
    models.open_gate("later")
    codex.up()
    codex.client.get("messages", str(message), "answer", timeout=40)

    with codex.database() as db:
        kinds = [kind for (kind,) in db.execute("select kind from entries")]
    assert kinds.count("turn-started") == kinds.count("turn-ended") == 1
    assert kinds.count("tool-called") == 1
    assert codex.ask("it", "say: And on.") == "And on."


@pytest.mark.spec("A7", "D2", "K3")
def test_a_killed_daemon_loses_no_open_permission(codex: Rookery) -> None:
    message = codex.send("it", f"{ESCALATED};; say: Made.")
    eventually(lambda: codex.json("permissions")["requests"])
    codex.kill()
    codex.up()
    (request,) = codex.json("permissions")["requests"]
    codex.run("allow", request["id"])
    codex.client.get("messages", str(message), "answer", timeout=40)

    assert (codex.project / "outside.txt").exists()


@pytest.mark.spec("A5", "A6", "G2")
def test_a_killed_app_server_fails_the_session(codex: Rookery, models: ModelServer) -> None:
    codex.send("it", "say: Begun.;; gate: never;; say: Not reached.")
    eventually(lambda: waits_at(models, "never"))
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}
        is_ours = environment.get("CODEX_HOME") == str(codex.folder / "codex")
        if is_ours and "app-server" in (process.info["cmdline"] or ()):
            os.kill(process.pid, signal.SIGKILL)
    ended = codex.ended("it")

    assert ended["status"] == "failed"
    assert "SIGKILL" in str(ended["reason"])


@pytest.mark.spec("A10", "G1")
def test_a_conversation_is_resumed_and_forked(codex: Rookery) -> None:
    codex.ask("it", "say: Remember-me-13")
    native_id = codex.session("it")["native_id"]
    codex.run("end", "it")
    codex.ended("it")
    resumed = codex.run("resume", "it", "--name", "again", "--wait", "saw: Remember-me-13")
    forked = codex.run("fork", "again", "--name", "branch", "--wait", "saw: Remember-me-13")

    assert "yes" in resumed.stdout
    assert "yes" in forked.stdout
    assert codex.session("again")["native_id"] == native_id
    assert codex.session("branch")["native_id"] != native_id


@pytest.mark.spec("D5")
def test_a_question_is_shown_and_its_answer_reaches_the_model(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    settings = cold.home.settings
    enabled = 'arguments = ["--enable", "default_mode_request_user_input"]\n'
    settings.write_text(
        settings.read_text().replace("[agents.codex]\n", f"[agents.codex]\n{enabled}")
    )
    cold.up()
    cold.start("it", agent="codex", runtime="codex")
    question = (
        '{"questions": [{"id": "c", "header": "Colour", "question": "Which colour?", "options":'
        ' [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}'
    )
    message = cold.send("it", f"tool: request_user_input {question};; result:")
    eventually(lambda: cold.json("permissions")["requests"])
    (request,) = cold.json("permissions")["requests"]
    cold.run("answer", request["id"], "Blue")
    turn = cold.client.get("messages", str(message), "answer", timeout=40)

    assert request["kind"] == "question"
    assert "Blue" in turn["answer"]


@pytest.mark.spec("A10")
def test_a_conversation_goes_on_in_a_terminal_and_back(codex: Rookery) -> None:
    codex.ask("it", "say: Remember-me-13")
    codex.run("end", "it")
    codex.ended("it")
    typed = codex.run(
        *("resume", "it", "--name", "shown", "--runtime", "tmux"),
        *("--wait", "saw: Remember-me-13"),
    )
    codex.run("end", "shown")
    codex.ended("shown")
    driven = codex.run(
        *("resume", "shown", "--name", "driven", "--runtime", "codex"),
        *("--wait", "saw: Remember-me-13"),
    )

    assert "yes" in typed.stdout
    assert "yes" in driven.stdout
    assert codex.session("driven")["runtime"] == "codex"


@pytest.mark.spec("G2")
def test_an_error_of_the_api_fails_the_turn_and_not_the_session(codex: Rookery) -> None:
    message = codex.send("it", "error: 500 boom")
    codex.client.get("messages", str(message), "answer", timeout=60)

    with codex.database() as db:
        ((how, text),) = db.execute("select how, answer from turns")
    assert how == "failed"
    assert "internalServerError" in text
    assert codex.session("it")["status"] == "running"
    assert codex.ask("it", "say: Better.") == "Better."


@pytest.mark.spec("G2")
def test_a_single_turn_completes_the_session(cold: Rookery, models: ModelServer) -> None:
    configure(cold, models.url)
    cold.up()
    done = cold.run(
        *("start", "codex", "--runtime", "codex", "--name", "once", "--single-turn"),
        *("--wait", "say: Once."),
    )
    ended = cold.ended("once")

    assert "Once." in done.stdout
    assert ended["status"] == "completed"
