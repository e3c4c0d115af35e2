"""Shell commands that Claude Code runs when it loads a skill or a command file. Pure.

No hook reports them: Claude replaces each by its output before the model sees the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rookery.ports.settings import SkillDialect

#: Tools that load such a file, and the fields of their input that may name it.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Skill": ("skill", "command", "name"),
    "SlashCommand": ("command",),
}

#: An inline command, and a block of them.
_INLINE = re.compile(r"!`([^`]+)`")
_BLOCK = re.compile(r"^[ \t]*```!([\s\S]*?)```", re.MULTILINE)
_MARK = re.compile(r"!`|```!")

#: Hooks of a skill run commands later, whenever its events happen.
_HOOKS = re.compile(r"^\s*[\"']?hooks[\"']?\s*:", re.MULTILINE)


def named_file(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return the name of the skill or command that a call loads; empty if it is unclear."""
    name = next((tool_input[field] for field in _FIELDS[tool] if field in tool_input), "")
    words = name.split(maxsplit=1) if isinstance(name, str) else []
    return words[0].lstrip("/") if words else ""


def inline_commands(text: str) -> tuple[str, ...] | None:
    """Return the commands that a text makes Claude run; ``None`` if that is unclear."""
    blocks = [found[1] for found in _BLOCK.finditer(text)]
    rest = _BLOCK.sub("", text)
    inline = [found[1] for found in _INLINE.finditer(rest)]
    is_unclear = _MARK.search(_INLINE.sub("", rest)) or _HOOKS.search(text)
    return None if is_unclear else tuple(each.strip() for each in (*inline, *blocks))


def user_folder(transcript: str) -> Path | None:
    """Return the folder of settings of the user whose session has this transcript."""
    above = Path(transcript).parents
    is_known = len(above) > 2 and above[1].name == "projects"  # noqa: PLR2004 - folder, project
    return above[2] if is_known else None


SKILLS = SkillDialect(
    tools=frozenset(_FIELDS),
    named_file=named_file,
    inline_commands=inline_commands,
    user_folder=user_folder,
)
