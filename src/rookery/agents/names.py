"""The agents' names, for commands that must start quickly: ``catalog`` loads all dialects."""

from __future__ import annotations

from collections.abc import Mapping

from rookery.agents import claude, codex, gemini, opencode

#: The agents with a package of their own, in the order of their names.
PACKAGES = (claude, codex, gemini, opencode)

#: The agents that hooks can be installed for.
WITH_SETTINGS = tuple(each.NAME for each in PACKAGES)

#: All agents, as on the command line.
NAMES = tuple(sorted((*WITH_SETTINGS, "demo", "shell")))

#: The agent that a rule is tested for unless another is named.
DEFAULT = claude.NAME

#: What a project may hold for each agent that runs programs once its folder is trusted.
PROJECT_FILES: Mapping[str, tuple[str, ...]] = {
    each.NAME: each.PROJECT_FILES for each in PACKAGES
}

#: Variables that agents set for the programs that they run.
OWN_VARIABLES = (claude.OWN_VARIABLE,)

#: The configuration's key for more folders of the agent that describes its live sessions.
FOLDERS_KEY = claude.FOLDERS_KEY
