"""The demo agent over ACP, driven by a real daemon and its real driver host."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.real.resumed import last_answer
from tests.support.real.rookery import Rookery, eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def rookery(cold: Rookery) -> Iterator[Rookery]:
    cold.up()
    yield cold
    cold.run("end", "--all")


def up(rookery: Rookery, *words: str, agent: str = "demo") -> str:
    done = rookery.run("start", agent, "--runtime", "acp", "--name", "it", "--wait", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def activity(rookery: Rookery) -> str:
    return str(rookery.session("it")["activity"])


def until(rookery: Rookery, wanted: str) -> None:
    eventually(lambda: activity(rookery) == wanted)


def steps(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        return [step for (step,) in db.execute("select step from messages order by id")]


def ways(rookery: Rookery) -> list[str]:
    with rookery.database() as db:
        return [way for (way,) in db.execute("select way from messages order by id")]


def turns(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.json("output", "it")["turns"]
    return found


@pytest.mark.spec("G1", "G2", "G4", "G7", "B1")
def test_prompts_are_answered_and_shown(rookery: Rookery) -> None:
    first = up(rookery, "say: hello")
    second = rookery.run("ask", "it", "tool: Bash ls;; say: Again.").stdout
    shown = rookery.run("output", "it").stdout
    now = rookery.session("it")

    assert first.splitlines()[0] == "hello"
    assert second == "Again.\n"
    assert "❯ say: hello\nhello" in shown
    assert (now["runtime"], now["status"], now["activity"]) == ("acp", "running", "idle")
    assert now["last_tool"] == "Bash"
    assert now["native_id"]
    assert steps(rookery) == ["acknowledged", "acknowledged"]
    assert ways(rookery) == ["acp", "acp"]


@pytest.mark.spec("D1", "D2")
def test_rules_and_a_person_decide(rookery: Rookery) -> None:
    rookery.home.rules.write_text(
        '[[deny]]\nname = "no rm"\ntool = "Bash"\ninput.command = "rm *"\nreason = "No."\n'
        '[[allow]]\nname = "ls"\ntool = "Bash"\ninput.command = "ls"\n'
        '[[allow]]\nname = "notes"\ntool = "fs/write_text_file"\n'
    )
    rookery.home.rules.chmod(0o600)
    up(rookery)
    rookery.ask("it", "permission: Bash rm -rf build;; say: refused")
    rookery.ask("it", "permission: Bash ls;; say: allowed")
    rookery.ask("it", "tool: fs/write_text_file notes.txt Hello")
    rookery.send("it", "permission: Bash make;; say: made it")
    until(rookery, "permission")
    asked = rookery.json("permissions")["requests"]
    allowed = rookery.run("allow").stdout
    until(rookery, "idle")

    decisions = [
        (each["tool"], each["decision"]) for each in rookery.json("audit")["decisions"]
    ]
    assert sorted(decisions) == [
        ("Bash", "allowed"),
        ("Bash", "allowed"),
        ("Bash", "denied"),
        ("fs/write_text_file", "allowed"),
    ]
    assert [each["tool"] for each in asked] == ["Bash"]
    assert allowed == "Allowed: May it use Bash? make\n"
    assert last_answer(rookery, "it") == "made it"
    assert (rookery.project / "notes.txt").read_text() == "Hello"


@pytest.mark.spec("D2")
def test_a_question_is_answered(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "question: Red or blue? | Red | Blue")
    until(rookery, "question")
    rookery.run("answer", "it", "Blue")
    until(rookery, "idle")
    assert last_answer(rookery, "it") == "You chose Blue"


@pytest.mark.spec("G3")
def test_a_turn_is_interrupted_and_the_session_goes_on(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "sleep: 100;; say: never")
    until(rookery, "working")
    done = rookery.run("interrupt", "it")
    until(rookery, "idle")
    assert done.returncode == 0
    assert rookery.session("it")["reason"] == "interrupted"
    assert rookery.ask("it", "say: On.") == "On."


@pytest.mark.spec("K3", "G2")
def test_a_turn_goes_on_while_no_daemon_runs_and_nothing_is_lost(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "say: before;; permission: Bash make;; say: after")
    until(rookery, "permission")
    rookery.kill()
    rookery.up()
    until(rookery, "permission")
    rookery.run("allow")
    until(rookery, "idle")

    assert [turn["answer"] for turn in turns(rookery)] == ["after"]
    assert steps(rookery) == ["acknowledged"]
    assert rookery.ask("it", "say: still here") == "still here"


@pytest.mark.spec("A10")
def test_a_conversation_is_resumed_in_the_same_runtime(rookery: Rookery) -> None:
    up(rookery, "say: one")
    native_id = rookery.session("it")["native_id"]
    rookery.run("end", "it")
    resumed = rookery.json("resume", "it", "say: two")
    eventually(lambda: rookery.session(resumed["id"])["activity"] == "idle")
    now = rookery.session(resumed["id"])
    assert (now["runtime"], now["native_id"]) == ("acp", native_id)


@pytest.mark.spec("A5", "G2")
def test_a_crash_of_the_agent_fails_the_session_with_its_reason(rookery: Rookery) -> None:
    up(rookery)
    rookery.send("it", "crash:")
    ended = rookery.ended("it")
    assert ended["status"] == "failed"
    assert "SIGKILL" in ended["reason"]


@pytest.mark.spec("G2", "I5")
def test_a_session_of_one_turn_is_reported_as_ended(rookery: Rookery) -> None:
    done = rookery.run(
        *("start", "demo", "--runtime", "acp", "--name", "it", "--single-turn", "--wait"),
        "say: Done.",
    )

    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert done.stderr.startswith("it is ended (its only turn is over).")


@pytest.mark.spec("A5", "G2", "H5")
def test_a_failure_that_ends_its_session_is_one_notification(cold: Rookery) -> None:
    cold.configure('[notifications.command]\nrun = ["/bin/true"]\n')
    cold.up()
    for name, prompt in (("bad", "fail: bad thing"), ("gone", "crash:")):
        once = ("--runtime", "acp", "--name", name, "--single-turn", "--wait", prompt)
        assert cold.run("start", "demo", *once).returncode == 1
    told = cold.json("notify", "ls")["notifications"]

    assert sorted((each["name"], each["kind"]) for each in told) == [
        ("bad", "failed"),
        ("gone", "failed"),
    ]


@pytest.mark.spec("G1")
def test_an_agent_that_only_the_configuration_knows_is_driven(cold: Rookery) -> None:
    command = [sys.executable, "-I", "-m", "rookery.programs.demo", "--acp"]
    cold.configure(
        f"[agents.robot]\nacp = {json.dumps(command)}\n"
        '[agents.liar]\nacp = ["/bin/sh", "-c", "echo Hello; read line"]\n'
    )
    cold.up()
    robot = cold.run("start", "robot", "--name", "it", "--wait", "say: I am a robot")
    liar = cold.run("start", "liar", "--name", "liar", "--wait", "say: x")
    in_tmux = cold.run("start", "robot", "--runtime", "tmux")
    resumed = cold.json("end", "it") and cold.json("resume", "it")
    cold.run("end", "--all")

    assert robot.stdout.splitlines()[0] == "I am a robot"
    assert 'it does not speak ACP: it printed "Hello"' in liar.stdout
    assert "robot has no runtime 'tmux'; it has: acp." in in_tmux.stderr
    assert resumed["runtime"] == "acp"


@pytest.mark.spec("G2")
def test_an_agent_that_hangs_at_its_start_fails_at_the_deadline(cold: Rookery) -> None:
    cold.configure(
        '[limits]\nstart_deadline = 1.0\n[agents.mute]\nacp = ["tail", "-f", "/dev/null"]\n'
    )
    cold.up()
    cold.run("start", "mute", "--name", "it")
    ended = cold.ended("it")
    assert ended["status"] == "failed"
    assert "1 s" in ended["reason"]
