"""Codex over ACP: its adapter ``@agentclientprotocol/codex-acp``, as of 2.6.

The adapter runs the Codex that it brings along, or that of ``CODEX_PATH``. In its default mode
a model decides about approvals, so a mode in which Rookery is asked is always set.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from rookery.agents.codex.driver import trust
from rookery.agents.shared.acp import (
    as_patch,
    driver_line,
    mode_id,
    options_of,
    refuse_system_prompt,
    services_in,
)
from rookery.agents.shared.own_tools import named
from rookery.drivers.acp.options import FolderTrust
from rookery.drivers.acp.tools import (
    EDIT,
    WRITE_FILE,
    AcpCall,
    FileDiff,
    NamedCall,
    by_kind,
)
from rookery.model.autonomy import Autonomy
from rookery.ports.agent import DriverLine, LaunchSpec

PROGRAM = "codex-acp"

#: The modes over ACP. ``plan`` is missing: none of them only reads and never asks.
_MODES = {
    "default": "read-only",
    "read-only": "read-only",
    "workspace-write": "workspace-write",
    "danger-full-access": "agent-full-access",
}

_SIGN_IN = (
    "Type  codex login  in a terminal, or set OPENAI_API_KEY in [agents.codex.environment] of"
    " the configuration."
)

#: Why an untrusted folder is refused: no option makes the adapter ignore its MCP servers.
_UNTRUSTED = (
    "Codex does not trust this folder yet. Its ACP adapter would accept it for good and run the"
    " MCP servers of the project. Run  codex  there once and accept it, or use --runtime codex."
)


def over_acp(spec: LaunchSpec, modes: Mapping[str, Autonomy]) -> DriverLine:
    refuse_system_prompt(spec, "Codex")
    mode = mode_id(_MODES, spec.permission_mode or "default", "Codex")
    options = options_of(
        spec,
        mode=mode,
        modes={"agent-full-access": "danger-full-access"},
        model=spec.model,
        trust=FolderTrust(
            check=f"{trust.__name__}:{trust.is_trusted.__name__}", refusal=_UNTRUSTED
        ),
        # Rookery's MCP server checks the badge of each caller.
        unasked=(*spec.allowed_tools, *(named("mcp__rookery__") if spec.tools else ())),
        services=services_in(modes.get(spec.permission_mode, Autonomy.ASK)),
        dialect=f"{__name__}:{name_tool.__name__}",
        forms=False,  # its adapter asks by them in ways that are not tested
        failure_sign=("codex", "threadStatus", "type", "systemError"),
        sign_in=_SIGN_IN,
    )
    # It would open a browser to sign in.
    return driver_line(spec.command, options, {"NO_BROWSER": "1"})


def name_tool(call: AcpCall) -> NamedCall:
    """Name a call as the hooks of Codex do."""
    match call.input:
        case {"server": str(server), "tool": str(tool)}:
            arguments = call.input.get("arguments")
            return NamedCall(
                f"mcp__{server}__{tool}", arguments if isinstance(arguments, dict) else {}
            )
        case {"path": str(path), "content": str(content)} if call.method == WRITE_FILE:
            is_new = call.diffs[0].old is None
            change = FileDiff(str(PurePath(path)), None if is_new else "", content)
            return NamedCall("apply_patch", {"command": as_patch([change])}, (path,))
        case {"command": str()}:
            return NamedCall("Bash", call.input)
        case _ if call.kind == EDIT and call.diffs:
            files = tuple(each.path for each in call.diffs)
            return NamedCall("apply_patch", {"command": as_patch(call.diffs)}, files)
        case _:
            return by_kind(call)
