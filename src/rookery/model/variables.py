"""Environment variables: Rookery's own, and those that a tool call sets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.model.folders import runs_command

#: The field of a command's input that holds its own variables.
ENVIRONMENT = "env"

#: Prefix of the variables by which Rookery identifies sessions; no call may set them.
OWN_PREFIX = "ROOKERY_"

#: The variable that names the session in every process that a session's program starts.
SESSION_VARIABLE = "ROOKERY_SESSION"

#: Its value in the processes of Rookery's own git. An agent may have configured what they run.
OWN_GIT = "git"

#: Variables that make a command use another program, library or configuration than it names.
#: No list of them is complete, so a rule must also name the variables that it allows.
_REDIRECTING = frozenset(
    {
        *("PATH", "HOME", "SHELL", "ENV", "SHELLOPTS", "IFS", "CDPATH", "TMPDIR", "PS4"),
        *("EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "PROMPT_COMMAND"),
        *("CC", "CXX", "MAKEFLAGS", "MFLAGS", "GOFLAGS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"),
    }
)
_REDIRECTING_PREFIXES = (
    *(OWN_PREFIX, "LD_", "DYLD_", "BASH_", "ZDOT", "GIT_", "SSH_", "XDG_"),
    *("PYTHON", "NODE_", "NPM_", "YARN_", "PERL", "RUBY", "GEM_", "CARGO", "RUST", "MAVEN_"),
    *("PIP_", "UV_", "VIRTUAL_ENV", "GRADLE_", "DOCKER_", "LUA_"),
)
_REDIRECTING_SUFFIXES = ("_PAGER", "_EDITOR", "_PROXY", "_BASE_URL", "_COMMAND")


def variables_of(tool_input: Mapping[str, Any]) -> object:
    """Return the variables that a call sets for its command; ``None`` if there are none."""
    return tool_input.get(ENVIRONMENT) or None if runs_command(tool_input) else None


def redirects(variables: object) -> bool:
    """Return whether variables may make a command run another program; true if unreadable."""
    return not isinstance(variables, dict) or any(map(_is_redirecting, variables))


def _is_redirecting(name: object) -> bool:
    upper = str(name).upper()
    return (
        upper in _REDIRECTING
        or upper.startswith(_REDIRECTING_PREFIXES)
        or upper.endswith(_REDIRECTING_SUFFIXES)
    )


def in_words(variables: object) -> str:
    """Return variables as a shell shows them: ``A=1 B=2``."""
    if isinstance(variables, dict):
        return " ".join(f"{name}={value}" for name, value in variables.items())
    return str(variables)
