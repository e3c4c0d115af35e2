"""The real Gemini CLI and OpenCode start another agent by our tools, and are told of it."""

from __future__ import annotations

import json

import pytest

from rookery.hook_setup.programs import mcp_argv
from tests.support.real.more_agents import CASES, PROGRAMS, SLOWLY, Case, prepare
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.more_agents, pytest.mark.timeout(300)]


@pytest.fixture(params=CASES, ids=[case.agent for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    assert (PROGRAMS / found.agent).exists(), "make test-agents installs it"
    return found


@pytest.fixture
def rookery(cold: Rookery, models: ModelServer) -> Rookery:
    prepare(cold, models)
    # Gemini takes servers from its user's own settings only; the others are given ours.
    settings = cold.folder / "gemini" / ".gemini" / "settings.json"
    program, *arguments = mcp_argv(cold.home)
    server = {"command": program, "args": arguments, "trust": True}
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "mcpServers": {"rookery": server}}))
    cold.up()
    return cold


@pytest.mark.spec("E1", "E2", "I2")
def test_agents_start_another_and_are_woken_by_its_stop(
    rookery: Rookery, models: ModelServer, case: Case
) -> None:
    rookery.start("master", agent=case.agent, model=case.model)
    given = {"agent": "demo", "project": str(rookery.project), "name": "worker"}
    words = {**given, "computer": "local", "message": "say: the worker's words"}

    rookery.send("master", f"tool: rookery__start_session {json.dumps(words)};; result:")

    def has_read() -> bool:
        """Tell whether it was told, and has called just what it was told to use."""
        asked = [json.dumps(each.body) for each in models.log]
        return any(
            "finished its turn" in each and '"omitted' in each.replace("\\", "")
            for each in asked
        )

    eventually(has_read, within=SLOWLY)
    assert rookery.session("worker")["parent"] == rookery.session("master")["id"]
