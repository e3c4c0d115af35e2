"""Choose the part of a tool call's input by which a person recognises the call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Fields of the tools that come with agents, the most telling first. A description is the
#: agent's own comment: a field that says what the call does comes before it.
_FIELDS = (
    *("command", "file_path", "filePath", "notebook_path", "absolute_path", "url", "pattern"),
    *("query", "skill", "path", "dir_path", "description", "prompt", "plan", "bash_id"),
)

#: Prefix of the tools of MCP servers. Their fields can have any meaning.
_MCP_PREFIX = "mcp_"


def telling(tool_input: Mapping[str, Any], tool: str = "") -> str:
    """Return the most telling part of a call's input, such as its command; else all of it."""
    known = "" if tool.startswith(_MCP_PREFIX) else _known(tool_input)
    return known or (_as_json(tool_input) if tool_input else "")


def _known(tool_input: Mapping[str, Any]) -> str:
    match tool_input:
        case {"questions": [{"question": str(question)}, *_]}:
            return question
        case {"command": [*words]}:
            return " ".join(map(str, words))
        case {"pattern": str(pattern), "path": str(path)} if pattern and path:
            return f"{pattern} in {path}"
        case _:
            values = (tool_input.get(name) for name in _FIELDS)
            return next((each for each in values if isinstance(each, str) and each), "")


def _as_json(tool_input: Mapping[str, Any]) -> str:
    return json.dumps(dict(tool_input), ensure_ascii=False, default=str)
