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

#: Tools that start a subagent, and the field of their input that names it.
_SUBAGENT_FIELDS: Mapping[str, str] = {"Agent": "subagent_type", "Task": "subagent_type"}

#: An inline command, which follows a space, and a block of them.
_INLINE = re.compile(r"(?<!\S)!`([^`]+)`")
_BLOCK = re.compile(r"^[ \t]*```!([^`]*)```", re.MULTILINE)
_MARK = re.compile(r"!`|```!")

#: Where Claude inserts the arguments of a call into the text.
_ARGUMENT = re.compile(r"\$(ARGUMENTS|\d|\{)")

#: A subagent loads these skills when it starts.
_SKILLS = re.compile(r"^\s*[\"']?skills[\"']?\s*:", re.MULTILINE)

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


def completes_a_command(text: str, argument: str) -> bool:
    """Return whether an argument may become part of a command once it is in the text."""
    return "`" in argument or ("!" in argument and _ARGUMENT.search(text) is not None)


def named_subagent(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return the name of the subagent that a call starts."""
    return str(tool_input.get(_SUBAGENT_FIELDS[tool], ""))


def runs_at_start(text: str) -> bool:
    """Return whether the definition of a subagent may run commands when the agent starts."""
    return bool(_SKILLS.search(text) or _HOOKS.search(text))


def user_folder(transcript: str) -> Path | None:
    """Return the folder of settings of the user whose session has this transcript."""
    above = Path(transcript).parents
    is_known = len(above) > 2 and above[1].name == "projects"  # noqa: PLR2004 - folder, project
    return above[2] if is_known else None


SKILLS = SkillDialect(
    tools=frozenset(_FIELDS),
    subagent_tools=frozenset(_SUBAGENT_FIELDS),
    named_file=named_file,
    inline_commands=inline_commands,
    completes_a_command=completes_a_command,
    named_subagent=named_subagent,
    runs_at_start=runs_at_start,
    user_folder=user_folder,
)
