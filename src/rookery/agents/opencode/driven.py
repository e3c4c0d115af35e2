"""OpenCode without a terminal: how its server is started, as of 1.18."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rookery.model.errors import BadInput
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec

#: The arguments that make OpenCode a server on any free port, which it then prints.
_SERVE = ("serve", "--hostname", "127.0.0.1", "--port", "0")


def over_http(
    spec: LaunchSpec, command_line: Callable[[LaunchSpec], CommandLine]
) -> DriverLine:
    """Return how OpenCode's server is started, with the settings of a session in a terminal.

    Raises ``BadInput``.
    """
    if spec.allowed_tools:
        raise BadInput(
            "OpenCode takes no list of allowed tools here. Choose a permission mode, or write"
            " rules."
        )
    usual = command_line(spec)
    options: dict[str, Any] = {"model": spec.model, "system_prompt": spec.system_prompt}
    if spec.resumes:
        options["resumes"] = spec.native_id
    elif spec.forks:
        options["forks"] = spec.forks
    line = CommandLine((*spec.command, *_SERVE), usual.files, usual.environment)
    return DriverLine("opencode", line, options)
