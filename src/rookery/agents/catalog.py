"""The agents that Rookery supports, with their dialects: all that ``names`` lists."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from rookery.agents.demo import DEMO
from rookery.agents.names import PACKAGES
from rookery.agents.shell import SHELL
from rookery.ports.agent import Agent


def _agent_of(package: ModuleType) -> Agent:
    """Return the agent of a package: the constant with its name in the module ``agent``."""
    agent: Agent = getattr(import_module(f"{package.__name__}.agent"), package.NAME.upper())
    return agent


AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in sorted((*map(_agent_of, PACKAGES), DEMO, SHELL), key=lambda agent: agent.name)
}

#: The programs that can run as a server for several sessions, with the argument that does so.
SHARED_SERVERS: Mapping[str, str] = {
    agent.program: agent.abilities.server_argument
    for agent in AGENTS.values()
    if agent.abilities.server_argument
}
