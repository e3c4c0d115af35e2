"""The list of the agents that Rookery supports."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.agents.claude.agent import CLAUDE
from rookery.agents.codex.agent import CODEX
from rookery.agents.demo import DEMO
from rookery.agents.gemini.agent import GEMINI
from rookery.agents.opencode.agent import OPENCODE
from rookery.agents.shell import SHELL
from rookery.ports.agent import Agent

AGENTS: Mapping[str, Agent] = {
    agent.name: agent for agent in (CLAUDE, CODEX, DEMO, GEMINI, OPENCODE, SHELL)
}

#: The programs that can run as a server for several sessions, with the argument for that.
SHARED_SERVERS: Mapping[str, str] = {
    agent.program: agent.abilities.server_argument
    for agent in AGENTS.values()
    if agent.abilities.server_argument
}
