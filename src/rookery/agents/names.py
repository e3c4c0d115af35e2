"""The agents' names, for commands that must start quickly: ``catalog`` loads all dialects."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rookery.agents import claude, codex, gemini, opencode

#: The packages of agents, in the order of their names. ``catalog`` adds Rookery's own agents.
PACKAGES = (claude, codex, gemini, opencode)

#: The agent that runs any program, which is given as a command line.
SHELL = "shell"

#: All agents, as on the command line.
NAMES = tuple(sorted((*(each.NAME for each in PACKAGES), "demo", SHELL)))

#: The runtimes that each agent offers.
RUNTIMES: Mapping[str, tuple[str, ...]] = {
    **{each.NAME: ("tmux", *getattr(each, "DRIVEN", ())) for each in PACKAGES},
    "demo": ("tmux", "acp"),
    SHELL: ("tmux",),
}

#: Matches a valid name for an agent that the configuration defines.
CONFIGURED_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")

#: The agents whose hooks cannot be set at launch: their user has to install them.
WITH_INSTALLED_HOOKS = tuple(
    each.NAME for each in PACKAGES if getattr(each, "NEEDS_INSTALLED_HOOKS", False)
)

#: The agent that the gateway's methods start, and that rules are tested for by default.
DEFAULT = claude.NAME

#: For each agent, the files and folders of a project that can run programs once it is trusted.
PROJECT_FILES: Mapping[str, tuple[str, ...]] = {
    each.NAME: each.PROJECT_FILES for each in PACKAGES if hasattr(each, "PROJECT_FILES")
}

#: The agents that hooks can be installed for.
WITH_SETTINGS = tuple(PROJECT_FILES)

#: Variables that agents set for the programs that they run.
OWN_VARIABLES = (claude.OWN_VARIABLE,)

#: The configuration's key for more folders of the agent that describes its live sessions.
FOLDERS_KEY = claude.FOLDERS_KEY

#: The names that other tools for this agent use for methods and for its own id.
RPC_PREFIX, RPC_SESSION_ID = claude.RPC_PREFIX, claude.RPC_SESSION_ID

#: The package that drives the default agent, if its extra is installed.
SDK_PACKAGE = claude.SDK_PACKAGE
