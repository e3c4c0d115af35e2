"""Find the slash commands that a project's files define. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath

from rookery.agents.shared import jsonc_edit

SKILL = "skill.md"

_SUFFIXES = frozenset({".md", ".toml"})
_PLACES = frozenset({"command", "commands", "skill", "skills"})


def is_definition(path: PurePath, name: str) -> bool:
    """Return whether a file, by its path below the agent's folder, defines a command.

    Case is ignored, because file systems may ignore it.
    """
    wanted = _last(name)
    is_placed = not _PLACES.isdisjoint(each.lower() for each in path.parts[:-1])
    is_named = path.stem.lower() == wanted and path.suffix.lower() in _SUFFIXES
    is_skill = path.name.lower() == SKILL and path.parent.name.lower() == wanted
    return is_placed and (is_named or is_skill)


def names_skill(text: str, name: str) -> bool:
    """Return whether a skill's file gives it this name, whatever its folder is called."""
    found = re.search(r"^name:\s*(.*?)\s*$", text, re.MULTILINE)
    return found is not None and found[1].strip("\"'").lower() == _last(name)


def is_configured(text: str, name: str) -> bool:
    """Return whether settings define a command."""
    commands = jsonc_edit.parse_table(text).get("command")
    return isinstance(commands, dict) and _last(name) in {
        str(each).lower() for each in commands
    }


def _last(name: str) -> str:
    """Return a command's name without the namespace that a folder or a plugin gives it."""
    return name.rpartition(":")[2].lower()
