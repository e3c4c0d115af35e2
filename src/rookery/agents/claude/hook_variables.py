"""Variables by which the settings of a project could replace the programs that run hooks.

Claude Code adds the ``env`` of a project's settings to its own environment, and hooks inherit
it. A hook that fails, or whose program never runs, lets the tool run.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The first is Claude's own: a program that runs every shell command, hooks included. The
#: others make the dynamic linker load a library, or change how Bash runs as ``/bin/sh``:
#: ``noexec`` in ``SHELLOPTS`` skips every command, and a function can replace ``[``.
NAMES = (
    "CLAUDE_CODE_SHELL_PREFIX",
    *("LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"),
    *("DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"),
    *("BASH_ENV", "SHELLOPTS", "BASH_FUNC_[%%", "BASH_FUNC_read%%", "BASH_FUNC_printf%%"),
)


def of_launch(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values that a launch gives these variables; empty for those that it lacks."""
    return {name: environment.get(name, "") for name in NAMES}


def are_set(settings: Mapping[str, object]) -> bool:
    """Return whether settings give one of these variables a value."""
    variables = settings.get("env")
    if not isinstance(variables, dict):
        return False
    return any(str(variables[name]).strip() for name in NAMES if name in variables)
