"""What a person recognises a tool call by is the same in requests and in lists."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.agents.shared.tool_arguments import argument_of
from rookery.model.permissions import Call
from rookery.model.tool_inputs import telling

pytestmark = pytest.mark.spec("D2", "I5")


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("Grep", {"path": "src", "pattern": "TODO"}, "TODO in src"),
        ("Task", {"prompt": "Long text", "description": "Fix it"}, "Fix it"),
        ("Move", {"description": "harmless", "path": "/etc"}, "/etc"),
        ("shell", {"command": ["ls", "-l"]}, "ls -l"),
        ("mcp__db__query", {"query": "select 1"}, '{"query": "select 1"}'),
        ("Unknown", {"depth": 3}, '{"depth": 3}'),
        ("Bash", {}, ""),
    ],
)
def test_a_request_and_a_list_name_a_call_alike(
    tool: str, given: dict[str, Any], told: str
) -> None:
    assert telling(given, tool) == told
    assert argument_of(tool, given) == told
    assert Call(tool, given).summary == f"May it use {tool}? {told}".rstrip()
