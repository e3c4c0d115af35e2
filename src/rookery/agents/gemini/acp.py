"""Gemini CLI over ACP: ``gemini --acp``, as of 0.61.

Gemini reports neither the name of a tool nor its input. The name is the beginning of the call's
id. Of the input, a request for permission shows the command, or the file before and after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rookery.agents.shared.acp import (
    driver_line,
    mode_id,
    options_of,
    refuse_system_prompt,
    services_in,
)
from rookery.agents.shared.own_tools import named
from rookery.drivers.acp.options import Service
from rookery.drivers.acp.tools import EXECUTE, RUN_COMMAND, AcpCall, NamedCall, by_kind
from rookery.model.autonomy import Autonomy
from rookery.ports.agent import DriverLine, LaunchSpec

_FLAGS = ("--acp", "--experimental-acp")

#: The names of its modes over ACP.
_MODES = {"plan": "plan", "default": "default", "auto_edit": "autoEdit", "yolo": "yolo"}

_SIGN_IN = (
    "Run  gemini  in a terminal once and sign in, or choose there to use GEMINI_API_KEY and set"
    " it in [agents.gemini.environment] of the configuration."
)

#: Ids with the name of a tool: ``run_shell_command__fc-1``, ``run_shell_command-1763450000-1``.
_NAMED_ID = re.compile(r"([A-Za-z]\w*?)(?:__\S+|[-_]\d{10,}\S*)")

#: The explanation of a command that runs in another folder than the project's. The command and
#: its description, before and after, may contain the same words.
_IN_FOLDER = re.compile(r"\s*\[in ([^\]]+)\]")

#: The folder of a command if its explanation does not show it clearly: it is outside of every
#: project, so that rules that allow commands inside the project do not match.
_ANYWHERE = "/"

#: The tools that change a file or run a command, for calls of which only the kind is known.
_WRITE, _REPLACE, _SHELL = "write_file", "replace", "run_shell_command"


def over_acp(spec: LaunchSpec, modes: Mapping[str, Autonomy]) -> DriverLine:
    refuse_system_prompt(spec, "Gemini CLI")
    argv = [*spec.command]
    if not any(flag in argv for flag in _FLAGS):
        argv.append("--acp")
    if spec.model:
        argv += ["--model", spec.model]
    options = options_of(
        spec,
        mode=mode_id(_MODES, spec.permission_mode, "Gemini CLI"),
        modes={"autoEdit": "auto_edit"},
        # Rookery's MCP server checks the badge of each caller.
        unasked=(*spec.allowed_tools, *(named("mcp_rookery_") if spec.tools else ())),
        services=_services(modes.get(spec.permission_mode, Autonomy.ASK)),
        dialect=f"{__name__}:{name_tool.__name__}",
        sign_in=_SIGN_IN,
    )
    return driver_line(argv, options)


def _services(autonomy: Autonomy) -> tuple[Service, ...]:
    """Return the services that Rookery offers to Gemini: only writing files.

    If Rookery also read files, Gemini could not create any: it does not understand the error
    for a file that does not exist.
    """
    return tuple(each for each in services_in(autonomy) if each == "write")


def name_tool(call: AcpCall) -> NamedCall:
    """Name a call as Gemini's hooks do, as far as the protocol shows its tool."""
    tool = _tool_of(call)
    if call.method == RUN_COMMAND:
        return NamedCall(_SHELL, call.input)
    if tool == _SHELL:
        return NamedCall(tool, _command(call))
    if len(call.diffs) == 1:
        diff = call.diffs[0]
        tool = tool or (_REPLACE if diff.old else _WRITE)
        return NamedCall(tool, {"file_path": diff.path, "content": diff.new})
    other = by_kind(call)
    return NamedCall(tool or other.tool, other.input)


def _tool_of(call: AcpCall) -> str:
    named = "" if call.method else _NAMED_ID.fullmatch(call.call_id)
    if named:
        return named[1]
    return _SHELL if call.kind == EXECUTE and not call.method else ""


def _command(call: AcpCall) -> Mapping[str, Any]:
    explanation = call.text.removeprefix(call.title)
    if folder := _IN_FOLDER.match(explanation):
        return {"command": call.title, "dir_path": folder[1]}
    is_known = explanation.lstrip().startswith("(") or not _IN_FOLDER.search(explanation)
    return {"command": call.title} | ({} if is_known else {"dir_path": _ANYWHERE})
