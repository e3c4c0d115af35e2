"""Claude Code over ACP: its adapter ``@agentclientprotocol/claude-agent-acp``, as of 0.99.

The adapter runs the program that it brings along, or that of ``CLAUDE_CODE_EXECUTABLE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.agents.claude.driver import trust
from rookery.agents.shared.acp import driver_line, options_of, services_in
from rookery.agents.shared.own_tools import named
from rookery.drivers.acp.options import FolderTrust
from rookery.drivers.acp.tools import (
    READ_FILE,
    RUN_COMMAND,
    WRITE_FILE,
    AcpCall,
    NamedCall,
    by_kind,
)
from rookery.model.autonomy import Autonomy
from rookery.ports.agent import DriverLine, LaunchSpec

PROGRAM = "claude-agent-acp"

_SIGN_IN = (
    "Run  claude  in a terminal once and type  /login,  or set ANTHROPIC_API_KEY in"
    " [agents.claude.environment] of the configuration."
)

#: The options in a folder that the user has not trusted: those of ``driven.UNTRUSTED``.
UNTRUSTED = {"settingSources": ["user"], "strictMcpConfig": True}

#: The mode that has another name over ACP.
_MANUAL = {"manual": "default"}


def over_acp(spec: LaunchSpec, modes: Mapping[str, Autonomy]) -> DriverLine:
    options = options_of(
        spec,
        mode=_MANUAL.get(spec.permission_mode, spec.permission_mode),
        model=spec.model,
        meta=_meta(spec),
        trust=FolderTrust(
            check=f"{trust.__name__}:{trust.is_trusted.__name__}",
            meta=_meta(spec, UNTRUSTED),
            # The adapter also reads the project's own choice of a mode.
            mode="default",
            notice=trust.NOTICE,
        ),
        # Rookery's MCP server checks the badge of each caller.
        unasked=named("mcp__rookery__") if spec.tools else (),
        services=services_in(modes.get(spec.permission_mode, Autonomy.ASK)),
        dialect=f"{__name__}:{name_tool.__name__}",
        other_suffix="_custom",
        sign_in=_SIGN_IN,
    )
    return driver_line(spec.command, options)


def _meta(spec: LaunchSpec, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the fields that the adapter takes in addition to those of the protocol."""
    meta: dict[str, Any] = {}
    if spec.system_prompt:
        meta["systemPrompt"] = {"append": spec.system_prompt}
    allowed = {"allowedTools": [*spec.allowed_tools]} if spec.allowed_tools else {}
    if given := {**allowed, **(options or {})}:
        meta["claudeCode"] = {"options": given}
    return meta


def name_tool(call: AcpCall) -> NamedCall:
    """Name a call as Claude Code's hooks do: the adapter adds the tool's name to the call."""
    match call.method, call.meta:
        case _, {"claudeCode": {"toolName": str(tool)}} if tool:
            return NamedCall(tool, call.input)
        case method, _ if method == READ_FILE:
            return NamedCall("Read", {"file_path": call.input["path"]})
        case method, _ if method == WRITE_FILE:
            return NamedCall(
                "Write", {"file_path": call.input["path"], "content": call.input["content"]}
            )
        case method, _ if method == RUN_COMMAND:
            return NamedCall("Bash", call.input)
        case _:
            return by_kind(call)
