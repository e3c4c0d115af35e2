"""Shell commands that Claude Code runs when it loads a skill or a command file. Pure.

No hook reports them: Claude replaces each by its output before the model sees the text. Nor
does a hook report the commands of hooks and MCP servers that such a file defines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rookery.agents.claude import frontmatter
from rookery.model.text_rewriting import from_first_visible
from rookery.ports.settings import SkillDialect

#: Tools that load such a file, and the fields of their input that may name it.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Skill": ("skill", "command", "name"),
    "SlashCommand": ("command",),
}

#: Tools that submit a prompt later, which loads a file if it begins with a slash.
_PROMPT_FIELDS: Mapping[str, str] = {"CronCreate": "prompt", "ScheduleWakeup": "prompt"}

#: Tools that start a subagent, and the field of their input that names it.
_SUBAGENT_FIELDS: Mapping[str, str] = {"Agent": "subagent_type", "Task": "subagent_type"}

#: The tool that runs a script, which may start any subagent.
_WORKFLOW = "Workflow"

#: An inline command, which stands at the beginning or after white space, and a block of them.
_INLINE = re.compile(r"(?<!\S)!`([^`]+)`")
_BLOCK = re.compile(r"^[ \t]*```!([^`]*)```", re.MULTILINE)
_MARK = re.compile(r"!`|```!")

#: Where Claude inserts the arguments of a call into the text.
_ARGUMENT = re.compile(r"\$(ARGUMENTS|\d|\{)")

#: Fields that run nothing. A file with any other, known or not, may run commands: ``hooks`` run
#: later, ``mcpServers`` are programs, and a subagent loads its ``skills`` when it starts.
_COMMON_FIELDS = frozenset({"name", "description", "model", "effort", "color", "version"})
_SKILL_FIELDS = _COMMON_FIELDS | {
    *("allowed-tools", "disallowed-tools", "argument-hint", "arguments", "when_to_use"),
    *("disable-model-invocation", "user-invocable", "license", "metadata", "compatibility"),
    *("author", "tags", "category", "context", "agent", "background", "paths"),
}
_SUBAGENT_DEFINITION_FIELDS = _COMMON_FIELDS | {
    *("tools", "disallowedTools", "permissionMode", "maxTurns", "memory", "background"),
}

#: Fields by which a skill runs in a subagent, and the plain name of a subagent.
_FORK_FIELDS = frozenset({"context", "agent"})
_PLAIN_NAME = re.compile(r"[A-Za-z][\w-]*|")


def named_file(tool: str, tool_input: Mapping[str, Any]) -> str | None:
    """Return the name of the skill or command that a call loads.

    It is empty if that is unclear, and ``None`` if the call loads none.
    """
    if tool in _PROMPT_FIELDS:
        prompt = tool_input.get(_PROMPT_FIELDS[tool], "")
        is_text = isinstance(prompt, str)
        return _first_word(prompt) if not is_text or _is_command(prompt) else None
    return _first_word(
        next((tool_input[name] for name in _FIELDS[tool] if name in tool_input), "")
    )


def _is_command(prompt: str) -> bool:
    return from_first_visible(prompt).startswith("/")


def _first_word(name: object) -> str:
    words = from_first_visible(name).split(maxsplit=1) if isinstance(name, str) else []
    return words[0].lstrip("/") if words else ""


def inline_commands(text: str) -> tuple[str, ...] | None:
    """Return the commands that a text makes Claude run; ``None`` if that is unclear."""
    blocks = [found[1] for found in _BLOCK.finditer(text)]
    rest = _BLOCK.sub("", text)
    inline = [found[1] for found in _INLINE.finditer(rest)]
    is_unclear = _MARK.search(_INLINE.sub("", rest)) or not _has_only(text, _SKILL_FIELDS)
    return None if is_unclear else tuple(each.strip() for each in (*inline, *blocks))


def _has_only(text: str, harmless: frozenset[str]) -> bool:
    """Return whether the frontmatter of a text is clear and has harmless fields only."""
    found = frontmatter.fields(text)
    if found is None or not found.keys() <= harmless:
        return False
    return _PLAIN_NAME.fullmatch(found.get("agent", "")) is not None


def starts_subagent(text: str) -> bool:
    """Return whether a skill or command runs in a subagent."""
    found = frontmatter.fields(text)
    return found is None or not _FORK_FIELDS.isdisjoint(found)


def completes_a_command(text: str, argument: str) -> bool:
    """Return whether an argument may become part of a command once it is in the text."""
    return "`" in argument or ("!" in argument and _ARGUMENT.search(text) is not None)


def named_subagent(tool: str, tool_input: Mapping[str, Any]) -> str | None:
    """Return the name of the subagent that a call starts; ``None`` if it may be any."""
    if tool == _WORKFLOW:
        return None
    return str(tool_input.get(_SUBAGENT_FIELDS[tool], ""))


def runs_at_start(text: str) -> bool:
    """Return whether the definition of a subagent may run commands when the agent starts."""
    return not _has_only(text, _SUBAGENT_DEFINITION_FIELDS)


def user_folder(transcript: str) -> Path | None:
    """Return the settings folder of the user whose session has this transcript."""
    above = Path(transcript).parents
    is_known = len(above) > 2 and above[1].name == "projects"  # noqa: PLR2004 - folder, project
    return above[2] if is_known else None


SKILLS = SkillDialect(
    tools=frozenset({*_FIELDS, *_PROMPT_FIELDS}),
    subagent_tools=frozenset({*_SUBAGENT_FIELDS, _WORKFLOW}),
    named_file=named_file,
    inline_commands=inline_commands,
    completes_a_command=completes_a_command,
    starts_subagent=starts_subagent,
    named_subagent=named_subagent,
    runs_at_start=runs_at_start,
    user_folder=user_folder,
)
