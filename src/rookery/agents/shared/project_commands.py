"""Find the slash commands that a project's files define. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath

from rookery.agents.shared import jsonc_edit

SKILL = "skill.md"

#: The frontmatter, and an escape in it, which may stand for any character of a name.
_HEAD = re.compile(r"\ufeff?---.*?\n(.*?)\n---", re.DOTALL)
_ESCAPE = re.compile(r"\\[uUxN]")

_SUFFIXES = frozenset({".md", ".toml"})
_PLACES = frozenset({"command", "commands", "skill", "skills"})


def is_definition(path: PurePath, name: str) -> bool:
    """Return whether a file, by its path below the agent's folder, defines a command.

    Case is ignored, because file systems may ignore it.
    """
    command = _last(name)
    is_placed = not _PLACES.isdisjoint(each.lower() for each in path.parts[:-1])
    is_named = path.stem.lower() == command and path.suffix.lower() in _SUFFIXES
    is_skill = path.name.lower() == SKILL and path.parent.name.lower() == command
    return is_placed and (is_named or is_skill)


def names_skill(text: str, name: str) -> bool:
    """Return whether a skill's file may give it this name, whatever its folder is called."""
    head = _HEAD.match(text)
    if head and _ESCAPE.search(head[1]):
        return True
    name_line = re.search(r"^name:\s*(.*?)\s*$", text, re.MULTILINE)
    return name_line is not None and name_line[1].strip("\"'").lower() == _last(name)


def is_configured(text: str, name: str) -> bool:
    """Return whether settings define a command."""
    commands = jsonc_edit.parse_table(text).get("command")
    return isinstance(commands, dict) and _last(name) in {
        str(each).lower() for each in commands
    }


def _last(name: str) -> str:
    """Return a command's name without the namespace that a folder or a plugin gives it."""
    return name.rpartition(":")[2].lower()
