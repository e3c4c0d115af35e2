"""The tools as a table: who may call which, what they say of themselves, what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.agents.shared.own_tools import OWN_TOOLS
from rookery.api.mcp.endpoint import as_caller
from rookery.api.mcp.server import LISTED
from rookery.api.mcp.tools import TOOLS
from rookery.model.facts import SessionId
from rookery.model.scopes import Identity, Scope

#: The tools as agents read them. Agents and their instructions rely on every word of it.
LISTING = Path(__file__).with_name("mcp_tools.json")


@pytest.mark.spec("I2")
def test_the_tools_are_listed_as_before() -> None:
    read = {"name", "description", "input_schema", "annotations"}

    listed = [each.model_dump(mode="json", include=read) for each in LISTED.values()]

    assert listed == json.loads(LISTING.read_text(encoding="utf-8"))


@pytest.mark.spec("I2", "K5")
def test_agents_know_rookerys_tools_by_their_names() -> None:
    assert set(OWN_TOOLS) == set(LISTED)


@pytest.mark.spec("I2")
def test_every_tool_has_a_description_and_two_schemas() -> None:
    for tool in LISTED.values():
        assert tool.description
        assert tool.input_schema["properties"]["computer"]["default"] == "local"
        assert tool.output_schema
        assert tool.output_schema["type"] == "object"


@pytest.mark.spec("I2")
def test_only_those_that_change_nothing_say_so() -> None:
    hints = {name: tool.annotations for name, tool in LISTED.items()}

    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}

    assert reading == {tool.name for tool in TOOLS if tool.need == "read"}
    assert hints["end_session"]
    assert hints["end_session"].destructive_hint


@pytest.mark.spec("I2")
def test_an_agent_is_taught_to_bring_sessions_before_its_person_rarely() -> None:
    described = {tool.name: tool.description for tool in TOOLS}

    assert "Use it rarely" in described["foreground"]
    assert "get_session_data" in described["foreground"]
    assert "it goes on" in described["background"]


@pytest.mark.spec("I2", "K5")
@pytest.mark.parametrize(
    ("identity", "scope"),
    [
        (Identity(Scope.OWNER, "unix"), Scope.READER),
        (Identity(Scope.OWNER, "unix", token="digest"), Scope.OWNER),  # noqa: S106 - a digest
        (Identity(Scope.SESSION, "unix", SessionId("s")), Scope.SESSION),
        (Identity(Scope.READER, "tcp", token="digest"), Scope.READER),  # noqa: S106 - as above
    ],
)
def test_who_shows_nothing_and_is_in_no_session_only_reads(
    identity: Identity, scope: Scope
) -> None:
    assert as_caller(identity).scope is scope
    assert as_caller(identity).session == identity.session


@pytest.mark.parametrize("module", ["rookery.cli", "rookery.daemon"])
def test_nobody_loads_the_package_who_does_not_use_it(module: str) -> None:
    program = f"import sys, {module}; sys.exit('mcp' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)

    assert done.returncode == 0
