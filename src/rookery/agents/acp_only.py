"""Agents that the configuration defines by a command that speaks ACP. Level: driven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rookery.agents.catalog import AGENTS
from rookery.agents.shared.acp import ACP, driver_line, options_of, refuse_system_prompt
from rookery.model.errors import BadInput
from rookery.ports.agent import (
    Abilities,
    Agent,
    CommandLine,
    DriverLine,
    InputDialect,
    LaunchSpec,
)


def with_configured(names: Iterable[str]) -> Mapping[str, Agent]:
    """Return all agents: those that Rookery knows, and those that only speak ACP."""
    return _Agents({**AGENTS, **{name: acp_agent(name) for name in names}})


class _Agents(dict[str, Agent]):
    def __missing__(self, name: str) -> Agent:
        """Return an agent that was removed from the configuration: its sessions live on."""
        return acp_agent(name)


def acp_agent(name: str) -> Agent:
    return Agent(
        name=name,
        program="",
        abilities=Abilities(can_resume=True, can_fork=True),
        modes={},
        command_line=_in_terminal,
        input=InputDialect(quiet=5.0, interrupt=("escape",)),
        driven={ACP: _over_acp},
        is_driven_only=True,
    )


def _in_terminal(spec: LaunchSpec) -> CommandLine:
    raise BadInput("this agent has no terminal: it is known by its ACP command only.")


def _over_acp(spec: LaunchSpec) -> DriverLine:
    refuse_system_prompt(spec, "This agent")
    advice = "Sign in with its own program first."
    options = options_of(spec, mode=spec.permission_mode, model=spec.model, sign_in=advice)
    return driver_line(spec.command, options)
