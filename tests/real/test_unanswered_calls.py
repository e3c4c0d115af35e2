"""A call that is asked about runs only once somebody has allowed that very call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: A workflow whose one agent wants to run a command.
WORKFLOW = """export const meta = { name: 'wf', description: 'd', phases: [] }
const said = await agent('bash: touch made;; say: made')
return said"""

#: Takes a while, so that the other call could begin while this one runs.
COMMAND = "sleep 1 && date +%N >> ran.log"


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    """Give agents whose own settings allow commands, and a rule that asks about them."""
    configure(cold, models.url)
    settings = cold.folder / "claude" / "settings.json"
    given = json.loads(settings.read_text())
    given["permissions"]["allow"] = ["Bash", "Workflow"]
    settings.write_text(json.dumps(given))
    cold.home.config.mkdir(parents=True, exist_ok=True)
    cold.home.rules.write_text('[[ask]]\ntool = "Bash"\n')
    cold.up()
    cold.json("mode", "remote")
    return cold


def asked(rookery: Rookery) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rookery.client.get("permissions")["requests"]
    return found


def count(rookery: Rookery, kind: str) -> int:
    """Return how many facts of a kind are in the journal."""
    with rookery.database() as db:
        query = "select count(*) from entries where kind = ?"
        return int(db.execute(query, (kind,)).fetchone()[0])


def type_prompt(rookery: Rookery, words: str) -> None:
    """Type a prompt in the pane, as a person does."""
    pane = str(rookery.session("it")["tmux_pane"])
    rookery.tmux("send-keys", "-t", pane, "-l", words)
    eventually(lambda: words in rookery.screen("it"))
    rookery.tmux("send-keys", "-t", pane, "Enter")


def delegate(prompt: str) -> str:
    task = {"description": "part", "subagent_type": "general-purpose", "prompt": prompt}
    return f"tool: Task {json.dumps({**task, 'run_in_background': True})}"


@pytest.mark.spec("D2", "D3", "E7")
def test_what_a_claude_workflow_asks_stays_asked_while_the_main_agent_goes_on(
    rookery: Rookery, models: ModelServer
) -> None:
    made = rookery.project / "made"
    rookery.start("it", agent="claude")
    script = json.dumps({"script": WORKFLOW})
    rookery.send("it", f"tool: Workflow {script};; gate: stop;; say: delegated")
    eventually(lambda: asked(rookery))
    # The script may run any command, so a rule on commands applies to the workflow, too.
    (workflow,) = asked(rookery)
    rookery.run("allow", workflow["id"])
    eventually(lambda: [each["tool"] for each in asked(rookery)] == ["Bash"])
    (request,) = asked(rookery)

    models.open_gate("stop")
    eventually(lambda: count(rookery, "turn-paused"))
    after_stop = asked(rookery)
    type_prompt(rookery, "say: beside it")
    eventually(lambda: count(rookery, "turn-paused") > 1)
    after_prompt, shown = asked(rookery), rookery.session("it")["activity"]
    type_prompt(rookery, "error: 400 broken")
    eventually(lambda: count(rookery, "turn-ended"))
    after_failure = asked(rookery)
    early = made.exists()
    rookery.run("allow", request["id"])

    open_ids = [[each["id"] for each in asks] for asks in (after_stop, after_prompt)]
    assert open_ids == [[request["id"]]] * 2
    assert [each["id"] for each in after_failure] == [request["id"]]
    assert shown == "permission"
    assert not early
    eventually(made.exists)
    assert "terminal" not in rookery.run("audit").stdout


@pytest.mark.spec("D2", "D4")
def test_of_two_subagents_of_claude_with_the_same_call_only_the_allowed_one_runs_it(
    rookery: Rookery,
) -> None:
    ran = rookery.project / "ran.log"
    rookery.start("it", agent="claude")
    task = delegate(f"bash: {COMMAND};; say: made")
    rookery.send("it", f"{task};; {task};; say: delegated")
    eventually(lambda: len(asked(rookery)) == 2)
    first, second = asked(rookery)

    used = count(rookery, "tool-used")
    rookery.run("allow", first["id"])
    eventually(lambda: count(rookery, "tool-used") > used)
    left = asked(rookery)
    rookery.run("deny", second["id"])
    eventually(lambda: not asked(rookery))
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert [each["id"] for each in left] == [second["id"]]
    assert len(ran.read_text().split()) == 1
    assert "terminal" not in rookery.run("audit").stdout


@pytest.mark.spec("D1", "D2", "D4")
def test_of_two_parallel_calls_of_codex_with_the_same_command_only_the_allowed_one_runs(
    rookery: Rookery,
) -> None:
    other = rookery.folder / "other"
    other.mkdir()
    rookery.start("it", agent="codex")
    here = json.dumps({"cmd": COMMAND})
    there = json.dumps({"cmd": COMMAND, "workdir": str(other)})
    words = f"tool: exec_command {here};; and: exec_command {there};; say: done"
    rookery.send("it", words)
    eventually(lambda: len(asked(rookery)) == 2)
    shown = rookery.run("permissions").stdout
    by_folder = {each["folder"]: each["id"] for each in asked(rookery)}
    inside, outside = by_folder[str(rookery.project)], by_folder[str(other)]

    rookery.run("allow", inside)
    eventually(lambda: count(rookery, "tool-used"))
    left = asked(rookery)
    rookery.run("deny", outside)
    eventually(lambda: rookery.session("it")["activity"] == "idle")

    assert [each["id"] for each in left] == [outside]
    assert (rookery.project / "ran.log").exists()
    assert not (other / "ran.log").exists()
    assert f"MayituseBashin{other}?" in "".join(shown.split())  # it may be wrapped
    audit = rookery.run("audit").stdout
    assert f"Bash in {other}" in audit
    assert "terminal" not in audit


@pytest.mark.spec("D1")
def test_a_rule_allows_no_command_of_codex_in_another_folder(rookery: Rookery) -> None:
    other = rookery.folder / "other"
    other.mkdir()
    rookery.home.rules.write_text(
        '[[allow]]\ntool = "Bash"\ninput.command = "touch made"\n'
        f'project = "{rookery.project}"\n[[ask]]\ntool = "Bash"\n'
    )
    rookery.start("it", agent="codex")
    here = json.dumps({"cmd": "touch made"})
    there = json.dumps({"cmd": "touch made", "workdir": str(other)})

    rookery.send("it", f"tool: exec_command {here};; tool: exec_command {there};; say: done")

    eventually(lambda: asked(rookery))
    assert [each["folder"] for each in asked(rookery)] == [str(other)]
    assert (rookery.project / "made").exists()
    assert not (other / "made").exists()
