"""OpenCode over ACP: ``opencode acp``, as of 1.18.

Its permission modes are Rookery's, set in the session's environment as for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from rookery.agents.shared.acp import driver_line, options_of, refuse_system_prompt
from rookery.agents.shared.own_tools import named
from rookery.drivers.acp.tools import RUN_COMMAND, WRITE_FILE, AcpCall, NamedCall, by_kind
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec

_SIGN_IN = "Type  opencode auth login  in a terminal."

#: The tool for each kind of call, for calls whose title is not the name of a tool.
_KINDS = {"execute": "bash", "edit": "edit", "read": "read", "fetch": "webfetch"}


def over_acp(spec: LaunchSpec, command_line: Callable[[LaunchSpec], CommandLine]) -> DriverLine:
    """Return how OpenCode is started over ACP, with the settings of a session in a terminal."""
    refuse_system_prompt(spec, "OpenCode")
    usual = command_line(spec)
    argv = spec.command if "acp" in spec.command else (*spec.command, "acp")
    options = options_of(
        spec,
        model=spec.model,
        tools=(),  # they are in its settings
        unasked=(*spec.allowed_tools, *named("rookery_")),
        services=(),  # it uses none
        dialect=f"{__name__}:{name_tool.__name__}",
        sign_in=_SIGN_IN,
    )
    line = driver_line(argv, options, usual.environment)
    return DriverLine(
        line.driver,
        CommandLine(line.line.argv, usual.files, line.line.environment),
        line.options,
    )


def name_tool(call: AcpCall) -> NamedCall:
    """Name a call as Rookery's plugin does: OpenCode announces it by the tool's name."""
    if call.method in {WRITE_FILE, RUN_COMMAND}:
        return by_kind(call)
    is_name = call.first_title.replace("_", "").isalnum()
    tool = call.first_title if is_name else _KINDS.get(call.kind, "")
    return NamedCall(tool, call.input) if tool else by_kind(call)
