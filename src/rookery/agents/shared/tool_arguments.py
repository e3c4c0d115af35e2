"""Return the argument of a tool call that a person recognises it by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Characters kept of an argument.
MAX_ARGUMENT_CHARS = 500

#: Fields of the tools that come with agents, the most telling first: a search has a pattern and
#: a path, a subagent a description and a prompt, a command also a description.
_FIELDS = (
    *("command", "file_path", "filePath", "notebook_path", "absolute_path", "url", "pattern"),
    *("query", "description", "skill", "path", "dir_path", "prompt", "plan", "bash_id"),
)

#: Tools of MCP servers have fields of their own, with any meaning.
_OF_MCP = "mcp_"


def argument_of(tool: str, tool_input: object) -> str:
    """Return what a tool is called with, such as its command; else its input as JSON."""
    if not isinstance(tool_input, dict) or not tool_input:
        return ""
    known = "" if tool.startswith(_OF_MCP) else _telling(tool_input)
    return bounded_argument(known or _as_json(tool_input))


def bounded_argument(text: str) -> str:
    """Return at most ``MAX_ARGUMENT_CHARS`` characters, and mark a cut."""
    text = text.strip()
    is_long = len(text) > MAX_ARGUMENT_CHARS
    return f"{text[: MAX_ARGUMENT_CHARS - 1]}…" if is_long else text


def _telling(tool_input: Mapping[str, Any]) -> str:
    match tool_input:
        case {"questions": [{"question": str(question)}, *_]}:
            return question
        case {"command": [*words]}:
            return " ".join(map(str, words))
        case _:
            values = (tool_input.get(name) for name in _FIELDS)
            return next((each for each in values if isinstance(each, str) and each), "")


def _as_json(tool_input: Mapping[str, Any]) -> str:
    return json.dumps(tool_input, ensure_ascii=False, separators=(", ", ": "))
