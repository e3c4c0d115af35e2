"""Agents that we start can ask things of us: each is told how in its own way."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.claude.agent import CLAUDE
from rookery.agents.codex.agent import CODEX
from rookery.agents.opencode.agent import CONFIG_VARIABLE, OPENCODE
from rookery.model.sessions import NativeId
from rookery.ports.agent import Agent, LaunchSpec

TOOLS = ("/bin/sh", "/home/anna/it's mine/rookery-mcp")
BADGE = "a-secret-badge"

SPEC = LaunchSpec(
    command=("it",),
    native_id=NativeId("n1"),
    model="",
    permission_mode="",
    hook="/bin/hook it",
    folder=Path("/sessions/n1"),
    tools=TOOLS,
    badge=BADGE,
)


@pytest.mark.spec("I2", "K5")
def test_claude_gets_them_in_a_file_of_its_own_and_need_not_ask() -> None:
    line = CLAUDE.command_line(SPEC)

    file = Path("/sessions/n1/mcp.json")
    server = json.loads(line.files[file])["mcpServers"]["rookery"]
    settings = json.loads(line.files[Path("/sessions/n1/settings.json")])
    assert line.argv[-2:] == ("--mcp-config", str(file))
    assert (server["command"], *server["args"]) == TOOLS
    assert server["env"] == {"ROOKERY_BADGE": BADGE}
    assert settings["permissions"] == {"allow": ["mcp__rookery"]}


@pytest.mark.spec("I2", "K5")
def test_codex_gets_them_as_settings_of_its_command_line() -> None:
    argv = CODEX.command_line(SPEC).argv

    given = [word for word in argv if word.startswith("mcp_servers.")]
    server = tomllib.loads("\n".join(given))["mcp_servers"]["rookery"]
    assert (server["command"], *server["args"]) == TOOLS
    assert server["env_vars"] == ["ROOKERY_BADGE"]


@pytest.mark.spec("I2")
@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("", {}),
        ('{"mcp": {"mine": {"type": "local"}}}', {"mine": {"type": "local"}}),
        ('{"mcp": []}', {}),
    ],
)
def test_opencode_gets_them_beside_its_users_own(before: str, kept: dict[str, object]) -> None:
    line = OPENCODE.command_line(replace(SPEC, environment={CONFIG_VARIABLE: before}))

    servers = json.loads(line.environment[CONFIG_VARIABLE])["mcp"]
    ours = servers.pop("rookery")
    assert ours == {"type": "local", "command": [*TOOLS]}
    assert servers == kept


@pytest.mark.spec("K5")
@pytest.mark.parametrize(
    "how", [{}, {"resumes": True}, {"forks": "n0"}, {"tools": ()}], ids=str
)
@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_no_badge_stands_on_a_command_line(agent: Agent, how: dict[str, Any]) -> None:
    wanted = replace(SPEC, model="a-model", permission_mode=next(iter(agent.modes), ""))

    assert BADGE not in " ".join(agent.command_line(replace(wanted, **how)).argv)


@pytest.mark.spec("I2")
@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE], ids=lambda each: each.name)
def test_who_is_to_have_none_gets_none(agent: Agent) -> None:
    line = agent.command_line(replace(SPEC, tools=()))

    everything = " ".join((*line.argv, *line.files.values(), *line.environment.values()))
    assert "mcp" not in everything
