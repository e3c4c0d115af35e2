"""Settings on Codex's command line that give a session Rookery's hooks and tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from rookery.agents.codex.hooks import EVENTS
from rookery.agents.codex.trust import digest


def tool_settings(tools: Sequence[str]) -> Iterable[str]:
    """Return settings that add Rookery's tools and allow them unasked.

    Rookery's MCP server checks the badge of each caller.
    """
    if tools:
        program, *arguments = tools
        server = "mcp_servers.rookery"
        yield f"{server}.command={json.dumps(program)}"
        yield f"{server}.args={json.dumps(arguments)}"
        yield f'{server}.env_vars=["ROOKERY_BADGE"]'
        yield f'{server}.default_tools_approval_mode="approve"'


def hook_settings(command: str, events: Collection[str] = EVENTS) -> Iterable[str]:
    """Return settings that give the session Rookery's hooks, and declare them as trusted.

    The command line overrides a project's settings, which could otherwise disable them.
    """
    yield "features.hooks=true"
    trusted = []
    for event in events:
        label, timeout = EVENTS[event]
        key = json.dumps(f"/<session-flags>/config.toml:{label}:0:0")
        trusted.append(f'{key}={{trusted_hash="{digest(label, command, timeout)}"}}')
        # A JSON string is a TOML string.
        run = f'{{type="command",command={json.dumps(command)},timeout={timeout}}}'
        yield f"hooks.{event}=[{{hooks=[{run}]}}]"
    yield "hooks.state={" + ",".join(trusted) + "}"
