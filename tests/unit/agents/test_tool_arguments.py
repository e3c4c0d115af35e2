"""The argument of a tool call is what a person recognises it by."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.agents.codex.hooks import patched_files
from rookery.agents.shared.tool_arguments import MAX_ARGUMENT_CHARS, argument_of

pytestmark = pytest.mark.spec("C6", "I5")


@pytest.mark.parametrize(
    ("tool", "tool_input", "argument"),
    [
        ("Bash", {"command": "npm test", "description": "Run the tests"}, "npm test"),
        ("shell", {"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ("Read", {"file_path": "/code/a.py", "limit": 10}, "/code/a.py"),
        ("edit", {"filePath": "/code/a.py", "oldString": "a"}, "/code/a.py"),
        ("Grep", {"pattern": "TODO", "path": "src"}, "TODO in src"),
        ("WebFetch", {"url": "https://example.org", "prompt": "Sum up"}, "https://example.org"),
        ("Task", {"description": "Fix the parser", "prompt": "Long text"}, "Fix the parser"),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "Which?"),
        ("list_directory", {"dir_path": "src"}, "src"),
        (
            "mcp__db__query",
            {"query": "select 1", "limit": 2},
            '{"query": "select 1", "limit": 2}',
        ),
        ("Unknown", {"depth": 3}, '{"depth": 3}'),
        ("Bash", {}, ""),
        ("Bash", None, ""),
        ("Bash", {"command": 7}, '{"command": 7}'),
    ],
)
def test_the_most_telling_field_of_a_call_is_its_argument(
    tool: str,
    tool_input: Any,  # noqa: ANN401 - foreign JSON
    argument: str,
) -> None:
    assert argument_of(tool, tool_input) == argument


def test_a_long_argument_is_cut_visibly() -> None:
    argument = argument_of("Bash", {"command": "x" * 100_000})

    assert len(argument) == MAX_ARGUMENT_CHARS
    assert argument.endswith("x…")


def test_a_patch_is_recognised_by_its_files() -> None:
    files = "*** Update File: a.py\n-x\n+y\n*** Add File: b c.py\n+z"
    patch = f"*** Begin Patch\n{files}\n*** End Patch"

    assert patched_files({"command": patch}) == "a.py, b c.py"
    assert patched_files({"command": "no patch"}) == ""
    assert patched_files({"command": 3}) == ""
