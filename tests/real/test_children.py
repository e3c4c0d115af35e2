"""Real agents that another session has started: they do no more unasked than it may."""

from __future__ import annotations

import pytest

from rookery.model.errors import Answered
from tests.support.real.agents import configure
from tests.support.real.http import badge_of
from tests.support.real.rookery import SOON, Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.mark.spec("K5")
def test_codex_that_a_careful_session_started_changes_nothing_unasked(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)  # in its own settings Codex may write to the project
    cold.up()
    cold.start("boss")
    boss = cold.client_of(badge_of(cold, "boss"))

    made = boss.post("sessions", agent="codex", name="child", project=str(cold.project))
    cold.client.get("sessions", "child", "wait", until="up", timeout=SOON)
    cold.ask("child", 'tool: exec_command {"cmd": "touch made"};; say: done')
    cold.start("free", agent="codex")
    cold.ask("free", 'tool: exec_command {"cmd": "touch by-person"};; say: done')

    assert made["permission_mode"] == "default"
    assert not (cold.project / "made").exists()
    assert (cold.project / "by-person").exists()


@pytest.mark.spec("D1", "K5")
def test_a_session_gets_round_no_rule_by_the_name_or_folder_of_a_child(
    rookery: Rookery,
) -> None:
    below = rookery.project / "sub"
    below.mkdir()
    rookery.home.rules.write_text(
        '[[allow]]\ntool = "Bash"\nsession = "ci-*"\n'
        f'[[deny]]\ntool = "Write"\nproject = "{rookery.project}"\nreason = "not here"\n'
    )
    rookery.json("mode", "remote")
    rookery.start("boss")
    boss = rookery.client_of(badge_of(rookery, "boss"))

    boss.post("sessions", agent="demo", name="ci-evil", project=str(below))
    rookery.client.get("sessions", "ci-evil", "wait", until="up", timeout=SOON)
    rookery.ask("ci-evil", "permission: Write x;; say: done")
    rookery.send("ci-evil", "permission: Bash ls;; say: ran")
    eventually(lambda: rookery.session("ci-evil")["activity"] == "permission")

    (kept,) = rookery.json("audit")["decisions"]
    assert (kept["decision"], kept["by"], kept["tool"]) == ("denied", "rule", "Write")
    (asked,) = rookery.client.get("permissions")["requests"]
    assert (asked["tool"], asked["input"]) == ("Bash", {"command": "ls"})


@pytest.mark.spec("K5")
def test_a_child_does_no_more_than_claude_does_after_its_person_has_changed_the_mode(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    cold.up()
    cold.start("boss", agent="claude", permission_mode="acceptEdits")
    boss = cold.client_of(badge_of(cold, "boss"))
    words = {"agent": "claude", "project": str(cold.project), "permission_mode": "acceptEdits"}
    cold.ask("boss", "say: still free")
    free = boss.post("sessions", name="free", **words)

    cold.run("keys", "boss", "shift-tab")
    eventually(lambda: "plan mode on" in cold.screen("boss"))
    cold.ask("boss", "say: in plan mode")
    with pytest.raises(Answered, match="acceptEdits, now plan"):
        boss.post("sessions", name="other", **words)

    assert free["permission_mode"] == "acceptEdits"
