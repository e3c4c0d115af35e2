"""Real agents that another session has started: they do no more unasked than it may."""

from __future__ import annotations

import pytest

from tests.models.server import ModelServer
from tests.real.agents import configure
from tests.real.rookery import SOON, Rookery
from tests.real.test_doors import badge_of

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
