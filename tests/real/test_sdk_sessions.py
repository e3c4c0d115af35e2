"""Claude Code without a terminal, driven by a real daemon and its real driver host."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.paths import SUPPORT
from tests.support.real.agents import configure
from tests.support.real.resumed import KNOWN, SECRET, last_answer
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

QUESTION = {
    "question": "Which?",
    "header": "Choice",
    "multiSelect": False,
    "options": [{"label": each, "description": each} for each in ("Alpha", "Beta")],
}


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Iterator[Rookery]:
    configure(cold, models.url)
    cold.up()
    yield cold
    _end_all(cold)


def _end_all(rookery: Rookery) -> None:
    """End every session, so that the driver host has none when the daemon stops."""
    for each in rookery.client.get("sessions")["sessions"]:
        rookery.run("end", each["id"])


def start(rookery: Rookery, *words: str, name: str = "it") -> dict[str, Any]:
    started: dict[str, Any] = rookery.json(
        "start", "claude", "--runtime", "sdk", "--name", name, *words
    )
    return started


def up(rookery: Rookery, *words: str) -> None:
    start(rookery, "--wait", *words)


def activity(rookery: Rookery) -> str:
    return str(rookery.session("it")["activity"])


def until(rookery: Rookery, wanted: str) -> None:
    eventually(lambda: activity(rookery) == wanted)


def kinds(rookery: Rookery) -> Counter[str]:
    with rookery.database() as db:
        return Counter(row[0] for row in db.execute("select kind from entries"))


@pytest.mark.spec("G1", "G2", "G6", "I5")
def test_prompts_are_answered_shown_and_paid_for(rookery: Rookery) -> None:
    first = rookery.run(
        "start", "claude", "--runtime", "sdk", "--name", "it", "--wait", "say: Hello."
    )
    second = rookery.run("ask", "it", "bash: echo hi;; say: Again.")
    rookery.run("send", "it", "say: Third.")
    waited = rookery.run("wait", "it")
    shown = rookery.run("output", "it").stdout
    now = rookery.session("it")
    ended = rookery.json("end", "it")

    assert first.stdout.splitlines()[0] == "Hello."
    assert second.stdout == "Again.\n"
    assert waited.returncode == 0
    for each in ("❯ say: Hello.\nHello.", "Again.", "❯ say: Third.\nThird."):
        assert each in shown
    assert (now["runtime"], now["status"], now["activity"]) == ("sdk", "running", "idle")
    assert now["cost"] > 0
    assert now["model"]
    assert ended["status"] in {"completed", "killed", "closing"}
    eventually(lambda: rookery.session("it")["status"] in {"completed", "killed"})


@pytest.mark.spec("D1", "D2")
def test_rules_and_a_person_decide_and_each_call_is_asked_once(rookery: Rookery) -> None:
    rookery.home.rules.write_text(
        '[[deny]]\nname = "no rm"\ntool = "Bash"\ninput.command = "rm *"\nreason = "No."\n'
        '[[allow]]\nname = "touch"\ntool = "Bash"\ninput.command = "touch allowed*"\n'
    )
    rookery.home.rules.chmod(0o600)
    up(rookery)
    denied = rookery.ask("it", "bash: rm x;; result:")
    rookery.ask("it", "bash: touch allowed.txt;; say: done")
    rookery.send("it", "bash: touch asked.txt;; say: made it")
    until(rookery, "permission")
    asked = rookery.json("permissions")["requests"]
    allowed = rookery.run("allow").stdout
    rookery.run("wait", "it")

    assert "No." in denied
    assert {each.name for each in rookery.project.iterdir()} == {"allowed.txt", "asked.txt"}
    assert [each["tool"] for each in asked] == ["Bash"]
    assert allowed == "Allowed: May it use Bash? touch asked.txt\n"
    assert last_answer(rookery, "it") == "made it"
    assert kinds(rookery)["input-asked"] == 1


@pytest.mark.spec("D2")
@pytest.mark.agents
def test_hooks_that_are_also_installed_ask_no_second_time(rookery: Rookery) -> None:
    rookery.environment["CLAUDE_CONFIG_DIR"] = str(rookery.folder / "claude")
    installed = rookery.run("hooks", "install", "--agent", "claude", "--yes")
    up(rookery)
    rookery.send("it", "bash: touch x;; say: made it")
    until(rookery, "permission")
    rookery.run("allow")
    until(rookery, "idle")

    assert "PermissionRequest" in (rookery.folder / "claude" / "settings.json").read_text()
    assert installed.returncode == 0
    assert last_answer(rookery, "it") == "made it"
    assert (kinds(rookery)["input-asked"], kinds(rookery)["turn-started"]) == (1, 1)


@pytest.mark.spec("G3", "G7")
@pytest.mark.agents
def test_a_message_steers_the_running_turn(rookery: Rookery) -> None:
    up(rookery, "--allow-tool", "Bash")
    begun, go = rookery.project / "begun", rookery.project / "go"
    wait = f"touch {begun}; until [ -e {go} ]; do sleep 0.1; done"
    rookery.send("it", f"bash: {wait};; say: never said")
    eventually(begun.exists)
    rookery.run("send", "--now", "it", "say: steered")
    go.touch()
    until(rookery, "idle")

    assert last_answer(rookery, "it") == "steered"
    assert rookery.run("inbox").stdout == "No messages wait.\n"


@pytest.mark.spec("D2", "D5")
@pytest.mark.agents
def test_a_denial_and_an_answer_reach_the_agent(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "bash: touch x;; result:")
    until(rookery, "permission")
    rookery.run("deny", "--reason", "not today")
    until(rookery, "idle")
    denied = last_answer(rookery, "it")
    question = json.dumps({"questions": [QUESTION]})
    rookery.send("it", f"tool: AskUserQuestion {question};; result:")
    until(rookery, "question")
    rookery.run("answer", "2")
    until(rookery, "idle")

    assert denied == "not today"
    assert '"Which?"="Beta"' in last_answer(rookery, "it")


@pytest.mark.spec("G3")
@pytest.mark.agents
def test_a_turn_is_interrupted_and_the_session_goes_on(rookery: Rookery) -> None:
    up(rookery, "--allow-tool", "Bash")
    begun = rookery.project / "begun"
    rookery.send("it", f"bash: touch {begun}; until [ -e x ]; do sleep 0.1; done;; say: never")
    eventually(begun.exists)
    rookery.run("interrupt", "it")
    until(rookery, "idle")

    assert rookery.session("it")["reason"] == "interrupted"
    assert rookery.ask("it", "say: on") == "on"


@pytest.mark.spec("G2", "A5")
@pytest.mark.agents
def test_one_turn_completes_and_a_budget_fails(rookery: Rookery) -> None:
    start(rookery, "--single-turn", "say: done", name="once")
    spent = "usage: in=1000 out=9000;; bash: echo x;; " * 3
    start(rookery, "--budget", "0.1", "--allow-tool", "Bash", f"{spent}say: never", name="dear")
    once, dear = rookery.ended("once"), rookery.ended("dear")

    assert (once["status"], once["reason"]) == ("completed", "its only turn is over")
    assert dear["status"] == "failed"
    assert "its budget of 0.1 USD is used up" in dear["reason"]
    assert kinds(rookery)["budget-exceeded"] == 1


@pytest.mark.spec("A10", "G6")
@pytest.mark.agents
def test_a_conversation_moves_from_a_terminal_to_the_sdk_and_back(rookery: Rookery) -> None:
    rookery.start("it", agent="claude")
    rookery.ask("it", f"say: {SECRET}")
    rookery.run("end", "it")
    driven = rookery.json("resume", "it", "--runtime", "sdk", "--wait", KNOWN)
    known = last_answer(rookery, "it")
    cost = rookery.session("it")["cost"]
    rookery.run("end", "it")
    rookery.ended("it")
    again = rookery.json("resume", "it", "--wait", KNOWN)
    same_cost = rookery.session("it")["cost"]
    rookery.run("end", "it")
    rookery.ended("it")
    back = rookery.json("resume", "it", "--runtime", "tmux", "--wait", KNOWN)

    assert (driven["runtime"], again["runtime"], back["runtime"]) == ("sdk", "sdk", "tmux")
    assert known.endswith(": yes")
    assert last_answer(rookery, "it").endswith(": yes")
    assert 0 < same_cost < cost * 2


@pytest.mark.spec("A7", "K3")
@pytest.mark.agents
def test_a_turn_goes_on_without_the_daemon_and_nothing_is_recorded_twice(
    rookery: Rookery, models: ModelServer
) -> None:
    up(rookery)
    message = rookery.send("it", "bash: echo one;; gate: on;; bash: echo two;; say: done")
    eventually(lambda: rookery.session("it")["last_tool"] == "Bash")
    rookery.kill()
    models.open_gate("on")
    rookery.up()
    until(rookery, "idle")
    counted = kinds(rookery)

    assert last_answer(rookery, "it") == "done"
    assert rookery.step(message)[0] == "acknowledged"
    assert (counted["turn-started"], counted["turn-ended"], counted["tool-used"]) == (1, 1, 2)
    assert rookery.ask("it", "say: on") == "on"


@pytest.mark.spec("A7", "D2", "K3")
@pytest.mark.agents
def test_a_permission_outlives_the_daemon_and_is_asked_once(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "bash: touch x;; say: made it")
    until(rookery, "permission")
    (before,) = rookery.json("permissions")["requests"]
    rookery.kill()
    rookery.up()
    until(rookery, "permission")
    (after,) = rookery.json("permissions")["requests"]
    rookery.run("allow")
    until(rookery, "idle")

    assert before["id"] == after["id"]
    assert (rookery.project / "x").exists()
    assert last_answer(rookery, "it") == "made it"
    assert kinds(rookery)["input-asked"] == 1


@pytest.mark.spec("A5", "A6", "G2")
@pytest.mark.agents
def test_a_killed_program_fails_the_session_with_the_signal(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "say: a;; hang:")
    until(rookery, "working")
    pid = int(rookery.session("it")["process"].partition(":")[0])
    psutil.Process(pid).kill()
    ended = rookery.ended("it")

    assert ended["status"] == "failed"
    assert ended["reason"] == "Claude Code was killed by SIGKILL."


@pytest.mark.agents
def test_the_agent_uses_rookerys_tools(rookery: Rookery) -> None:
    up(rookery)

    said = rookery.ask("it", "tool: mcp__rookery__list_sessions {};; result:")

    assert [each["name"] for each in json.loads(said)["sessions"]] == ["it"]


@pytest.mark.spec("G1")
def test_twenty_sessions_work_at_once(cold: Rookery, tmp_path: Path) -> None:
    number = 20
    program = [sys.executable, "-I", "-S", str(SUPPORT / "scripted_claude.py")]
    cold.configure(
        f"[limits]\ndriven_sessions = {number}\n"
        f"[agents.claude]\ncommand = {json.dumps(program)}\n"
    )
    cold.up()
    names = [f"worker-{each}" for each in range(number)]

    def work(name: str) -> list[str]:
        given = {"agent": "claude", "runtime": "sdk", "name": name}
        cold.client.post("sessions", project=str(cold.project), **given)
        return [cold.ask(name, f"say: {name} {turn}") for turn in range(3)]

    with ThreadPoolExecutor(number) as pool:
        answers = list(pool.map(work, names))
    counted = kinds(cold)
    _end_all(cold)

    assert answers == [[f"{name} {turn}" for turn in range(3)] for name in names]
    assert (counted["turn-started"], counted["turn-ended"]) == (number * 3, number * 3)


#: Answers the open request of any driven session as the daemon would, with the host's secret.
_ANSWER = """
import json, pathlib, socket, sys
run, events = map(pathlib.Path, sys.argv[1:])
host = socket.socket(socket.AF_UNIX)
host.connect(str(run / "drivers.sock"))
key = (events.parent / "drivers.key").read_text().strip()
for file in events.iterdir():
    for line in file.read_text().splitlines():
        event = json.loads(line)["event"]
        if event["kind"] == "asked":
            asked = {"session": file.stem, "request": event["request"]}
            command = {"do": "answer", "allow": True, **asked}
            call = {"id": 1, "key": key, "command": command}
            host.sendall(json.dumps(call).encode() + b"\\n")
assert host.recv(999), "refused"
"""


@pytest.mark.spec("K5", "D2")
@pytest.mark.agents
def test_no_command_of_an_agent_answers_through_the_driver_host(rookery: Rookery) -> None:
    script = rookery.folder / "answer.py"
    script.write_text(_ANSWER)
    rookery.home.rules.write_text(
        f'[[allow]]\nname = "it"\ntool = "Bash"\ninput.command = "{sys.executable} *"\n'
    )
    rookery.home.rules.chmod(0o600)
    start(rookery, "--wait", "say: up", name="other")
    rookery.send("other", "bash: touch made.txt;; say: done")
    eventually(lambda: rookery.json("permissions")["requests"])
    up(rookery, "say: up")
    places = f"{rookery.home.driver_socket.parent} {rookery.home.driven_events}"

    said = rookery.ask("it", f"bash: {sys.executable} {script} {places};; result:")

    assert "refused" in said or "Broken pipe" in said or "reset by peer" in said
    assert [each["outcome"] for each in rookery.json("permissions")["requests"]] == ["open"]
    assert not (rookery.project / "made.txt").exists()
