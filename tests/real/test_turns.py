"""Who asked what, what was answered, and how it ended: turns of the real Claude Code."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

SERVER = json.dumps(
    {"command": "sleep 300", "run_in_background": True, "description": "dev server"}
)


def task(prompt: str) -> str:
    """Have a subagent do a part, in the background."""
    given = {"description": "part", "subagent_type": "general-purpose", "prompt": prompt}
    return f"tool: Task {json.dumps(given)}"


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    configure(cold, models.url)
    settings = cold.folder / "claude" / "settings.json"
    theirs = json.loads(settings.read_text())
    theirs["permissions"]["allow"] = ["Bash(sleep:*)"]
    settings.write_text(json.dumps(theirs))
    cold.up()
    cold.start("it", agent="claude")
    return cold


def turns(rookery: Rookery, name: str = "it") -> list[tuple[str, str, str]]:
    found = rookery.client.get("sessions", name, "turns")["turns"]
    return [(turn["prompt"], turn["answer"], turn["how"]) for turn in found]


def is_doing(rookery: Rookery, activity: str) -> bool:
    return bool(rookery.session("it")["activity"] == activity)


def type_in(rookery: Rookery, words: str) -> None:
    """Type a line in the pane, as a person does."""
    pane = str(rookery.session("it")["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", words)
    eventually(lambda: words[-12:] in rookery.screen("it"))
    rookery.tmux("send-keys", "-t", pane, "Enter")


def facts_of(rookery: Rookery, kind: str) -> list[dict[str, Any]]:
    with rookery.database() as db:
        db.row_factory = sqlite3.Row
        query = "select body from entries where kind = ? order by seq"
        return [json.loads(row["body"]) for row in db.execute(query, (kind,))]


@pytest.mark.spec("E7", "A2")
def test_a_turn_that_leaves_a_command_running_is_over_and_has_its_answer(
    rookery: Rookery,
) -> None:
    first = rookery.run("ask", "it", f"tool: Bash {SERVER};; say: server is started")
    listed, told = rookery.run("ls").stdout, rookery.session("it")["background"]
    second = rookery.ask("it", "say: four")
    type_in(rookery, "/tasks")
    eventually(lambda: is_doing(rookery, "question"))
    rookery.tmux("send-keys", "-t", str(rookery.session("it")["tmux_pane"]), "x")
    eventually(lambda: rookery.session("it")["background"] == 0)

    assert (first.returncode, first.stdout.strip()) == (0, "server is started")
    assert told == 1
    assert "1 command still runs" in listed
    assert second == "four"
    assert [how for _, _, how in turns(rookery)] == ["finished", "finished"]
    eventually(lambda: is_doing(rookery, "idle"))
    assert rookery.session("it")["reason"] == ""


@pytest.mark.spec("E7")
def test_who_waits_is_told_that_a_command_still_runs(rookery: Rookery) -> None:
    rookery.start("boss")
    rookery.run("listen", "it", "--for", "boss")

    rookery.send("it", f"tool: Bash {SERVER};; say: started")
    eventually(lambda: len(turns(rookery, "boss")) == 1)

    ((told, _, _),) = turns(rookery, "boss")
    assert "finished its turn. 1 command still runs in the background." in told
    assert rookery.session("boss")["last_input_origin"] == "rookery"


@pytest.mark.spec("E7")
def test_a_turn_goes_on_until_its_background_subagents_have_reported(
    rookery: Rookery, models: ModelServer
) -> None:
    delegating = f"{task('gate: part;; say: my part')};; say: I have delegated"
    rookery.send("it", delegating)
    eventually(lambda: facts_of(rookery, "turn-paused"))
    paused = rookery.session("it")
    type_in(rookery, "say: beside it")
    eventually(lambda: len(facts_of(rookery, "turn-paused")) == 2)
    ended_early = facts_of(rookery, "turn-ended")
    interrupted = rookery.run("interrupt", "it")
    models.open_gate("part")
    eventually(lambda: is_doing(rookery, "idle"))

    assert (paused["activity"], paused["reason"]) == (
        "working",
        "waits for 1 background subagent",
    )
    assert ended_early == []
    assert interrupted.returncode == 1
    assert "rookery keys it ctrl-x ctrl-k ctrl-x ctrl-k" in interrupted.stderr
    assert turns(rookery) == [
        (delegating, 'ok: task notification, Agent "part" finished', "finished"),
        ("say: beside it", "beside it", "finished"),
    ]
    assert len(facts_of(rookery, "turn-ended")) == 1


@pytest.mark.spec("E7", "D2", "C8")
@pytest.mark.parametrize("mode", ["local", "remote"])
def test_a_permission_that_a_background_subagent_asks_for_is_seen(
    rookery: Rookery, models: ModelServer, mode: str
) -> None:
    """The subagent asks before the agent stops; another one reports while it still asks."""
    rookery.run("mode", mode)
    parts = (task("bash: touch made;; say: made"), task("gate: other;; say: other part"))
    rookery.send("it", f"{';; '.join(parts)};; gate: stop;; say: delegated")
    eventually(lambda: is_doing(rookery, "permission"))
    models.open_gate("stop")
    eventually(lambda: facts_of(rookery, "turn-paused"))
    asked = [rookery.client.get("sessions", "it", "wait", until="stop", timeout=30)]
    models.open_gate("other")
    eventually(lambda: len(facts_of(rookery, "turn-paused")) == 2)
    asked.append(rookery.session("it"))
    requests = rookery.json("permissions")["requests"]
    allowed = rookery.run("allow", "it")
    eventually(lambda: is_doing(rookery, "idle"))

    assert [each["activity"] for each in asked] == ["permission", "permission"]
    assert len(requests) == 1
    assert allowed.returncode == 0, allowed.stderr
    assert (rookery.project / "made").exists()
    assert [how for _, _, how in turns(rookery)] == ["finished"]


@pytest.mark.spec("D2", "D5")
def test_of_two_subagents_that_ask_at_once_each_is_answered_by_its_own_request(
    rookery: Rookery,
) -> None:
    rookery.run("mode", "remote")
    parts = (task("bash: touch alpha;; say: one"), task("bash: touch beta;; say: two"))
    rookery.send("it", f"{';; '.join(parts)};; say: delegated")
    eventually(lambda: len(rookery.json("permissions")["requests"]) == 2)
    asked = {
        each["input"]["command"]: each["id"] for each in rookery.json("permissions")["requests"]
    }

    listed, waited = rookery.run("permissions").stdout, rookery.run("wait", "it").stdout
    by_name = rookery.run("allow", "it")
    denied, allowed = (
        rookery.run("deny", asked["touch alpha"]),
        rookery.run("allow", asked["touch beta"]),
    )
    eventually(lambda: is_doing(rookery, "idle"))

    for each in asked.values():
        assert f"rookery allow {each}" in listed
        assert each in by_name.stderr
    assert any(f"rookery allow {each}" in waited for each in asked.values())
    assert by_name.returncode == 1
    assert (denied.returncode, allowed.returncode) == (0, 0), denied.stderr + allowed.stderr
    assert (rookery.project / "beta").exists()
    assert not (rookery.project / "alpha").exists()


@pytest.mark.spec("E7", "A2")
def test_a_prompt_typed_during_a_turn_has_its_own_answer(
    rookery: Rookery, models: ModelServer
) -> None:
    message = rookery.send("it", "gate: one;; say: answer one")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")
    type_in(rookery, "say: answer two")
    eventually(lambda: len(turns(rookery)) == 2)
    models.open_gate("one")
    eventually(lambda: is_doing(rookery, "idle") and len(facts_of(rookery, "turn-ended")) == 2)
    rookery.send("it", "bash: sleep 2;; say: answer three")
    eventually(lambda: len(facts_of(rookery, "tool-called")) == 1)
    type_in(rookery, "say: answer four")
    eventually(lambda: len(turns(rookery)) == 4 and is_doing(rookery, "idle"))

    assert turns(rookery) == [
        ("gate: one;; say: answer one", "answer one", "finished"),
        ("say: answer two", "answer two", "finished"),
        # Claude takes it into the turn that runs, once the tool is done, and stops once.
        ("bash: sleep 2;; say: answer three", "answer four", "finished"),
        ("say: answer four", "answer four", "finished"),
    ]


@pytest.mark.spec("A2")
def test_a_queued_prompt_goes_on_when_the_turn_before_it_is_interrupted(
    rookery: Rookery,
) -> None:
    rookery.send("it", "gate: never;; say: too late")
    eventually(lambda: is_doing(rookery, "working"))
    type_in(rookery, "say: instead")
    eventually(lambda: len(turns(rookery)) == 2)
    eventually(lambda: "esc to interrupt" in rookery.screen("it"))
    rookery.run("interrupt", "it")
    eventually(lambda: is_doing(rookery, "idle"))

    assert turns(rookery) == [
        ("gate: never;; say: too late", "", "interrupted"),
        ("say: instead", "instead", "finished"),
    ]
    assert rookery.session("it")["reason"] == ""


@pytest.mark.spec("A2", "C8")
def test_a_command_that_compacts_is_no_interruption(rookery: Rookery) -> None:
    rookery.ask("it", "say: something to compact")

    sent = rookery.run("ask", "it", "/compact")
    reasons = [rookery.session("it")["reason"]]
    type_in(rookery, "/compact again")
    eventually(lambda: len(turns(rookery)) == 3 and is_doing(rookery, "idle"))
    reasons.append(rookery.session("it")["reason"])

    assert (sent.returncode, sent.stdout.strip()) == (0, "The conversation was compacted.")
    assert turns(rookery)[1:] == [
        ("/compact", "The conversation was compacted.", "finished"),
        ("/compact again", "Not enough messages to compact.", "finished"),
    ]
    assert reasons == ["", ""]


@pytest.mark.spec("A2", "I1")
def test_a_command_of_the_program_is_reported_as_taken(rookery: Rookery) -> None:
    done = rookery.run("ask", "it", "/context")
    eventually(lambda: is_doing(rookery, "idle"))

    assert done.returncode == 0, done.stderr
    assert "it has taken the command" in done.stdout or "Context Usage" in done.stdout
    # Claude's file may have said for long enough that it works, to make a turn of it.
    assert {(prompt, how) for prompt, _, how in turns(rookery)} <= {("/context", "finished")}


@pytest.mark.spec("A2", "C3", "K3", "K4")
def test_a_turn_whose_stop_hook_is_lost_ends_with_what_its_agent_wrote_down(
    rookery: Rookery, models: ModelServer
) -> None:
    message = rookery.send("it", "gate: later;; say: what is written down")
    eventually(lambda: rookery.step(message)[0] == "acknowledged")

    rookery.kill()
    models.open_gate("later")
    eventually(lambda: any(rookery.home.spool.iterdir()))
    for spooled in rookery.home.spool.iterdir():
        spooled.unlink()
    rookery.up()
    eventually(lambda: is_doing(rookery, "idle"))

    (turn,) = turns(rookery)
    assert turn == (
        "gate: later;; say: what is written down",
        "what is written down",
        "finished",
    )


@pytest.mark.spec("E7")
def test_a_prompt_typed_during_a_turn_of_the_demo_agent_has_its_own_answer(
    cold: Rookery,
) -> None:
    cold.up()
    cold.start("it")

    message = cold.send("it", "sleep: 3;; say: answer one")
    eventually(lambda: cold.step(message)[0] == "acknowledged")
    type_in(cold, "say: answer two")
    eventually(lambda: len(turns(cold)) == 2 and is_doing(cold, "idle"))

    assert turns(cold) == [
        ("sleep: 3;; say: answer one", "answer one", "finished"),
        ("say: answer two", "answer two", "finished"),
    ]
