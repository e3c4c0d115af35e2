"""What the real agents sent over ACP, as events."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.drivers.events import (
    Event,
    FileChanged,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    TurnOver,
    Used,
)
from tests.support.acp_recordings import FILES, turns_of
from tests.support.acp_sessions import of

AGENTS = sorted(FILES)

#: The tool of each agent that runs a command, and the one that writes a file.
SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "opencode": "bash"}
EDITOR = {
    "claude": ("Write", "file_path"),
    "codex": ("apply_patch", "command"),
    "gemini": ("write_file", "file_path"),
    "opencode": ("write", "filePath"),
}


def turn(agent: str, part: str) -> list[Event]:
    (found,) = [events for prompt, events in turns_of(agent).items() if part in prompt]
    return found


@pytest.mark.spec("G1", "G2")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_text_is_reported_as_one_piece_and_is_the_answer(agent: str) -> None:
    events = turn(agent, "hello over acp")
    assert of(TextAdded, events) == [TextAdded("hello over acp")]
    assert events[-1] == TurnOver("hello over acp")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_command_is_a_call_of_the_agents_own_tool(agent: str) -> None:
    events = turn(agent, "allowed.txt")
    (began,) = of(ToolBegan, events)
    (ended,) = of(ToolEnded, events)
    assert began.tool == ended.tool == SHELL[agent]
    assert began.input["command"] == "touch allowed.txt"
    assert began.call_id == ended.call_id
    assert not ended.failed
    assert events[-1] == TurnOver("ran")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_written_file_is_shown_as_a_diff_and_named_in_the_input(agent: str) -> None:
    events = turn(agent, "new.txt")
    tool, field = EDITOR[agent]
    (began,) = of(ToolBegan, events)
    assert began.tool == tool
    assert "/code/project/new.txt" in began.input[field]
    changes = of(FileChanged, events)
    assert {change.path for change in changes} == {"/code/project/new.txt"}
    assert all(change.diff.endswith("@@ -0,0 +1 @@\n+hello") for change in changes)


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_the_result_of_a_command_is_what_it_printed(agent: str) -> None:
    (ended,) = of(ToolEnded, turn(agent, "bash: ls"))
    assert "allowed.txt" in ended.result


@pytest.mark.parametrize("agent", AGENTS)
def test_the_answer_is_what_follows_the_last_tool_call(agent: str) -> None:
    events = turn(agent, "bash: ls")
    assert [each.text for each in of(TextAdded, events)] == ["one", "last"]
    assert events[-1] == TurnOver("last")


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_thoughts_are_not_a_part_of_the_answer(agent: str) -> None:
    assert of(ThoughtAdded, turn(agent, "bash: ls")) == [ThoughtAdded("hm")]


@pytest.mark.spec("G6")
@pytest.mark.parametrize("agent", AGENTS)
def test_tokens_are_reported_with_those_of_the_cache(agent: str) -> None:
    used = of(Used, turn(agent, "hello over acp"))
    assert sum(each.input_tokens for each in used) > 5_000
    assert sum(each.output_tokens for each in used) == 3


@pytest.mark.spec("G6")
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_the_context_is_reported_with_the_tokens_of_a_turn(agent: str) -> None:
    contexts = [each.context for each in of(Used, turn(agent, "hello over acp"))]
    assert contexts[-1] > 5_000


@pytest.mark.spec("G6")
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_costs_are_reported_once_and_add_up_to_the_agents_total(agent: str) -> None:
    used = [each for events in turns_of(agent).values() for each in of(Used, events)]
    totals = [each.total_cost for each in used if each.total_cost is not None]
    assert sum(each.cost or 0 for each in used) == totals[-1]


@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_an_agent_without_prices_has_no_cost(agent: str) -> None:
    used = [each for events in turns_of(agent).values() for each in of(Used, events)]
    assert {each.cost for each in used} == {None}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_interrupted_turn_ends_as_such(agent: str) -> None:
    assert turn(agent, "sleep: 20")[-1].how == "interrupted"  # type: ignore[union-attr]


def test_a_patch_names_each_file_as_in_a_terminal() -> None:
    (began,) = of(ToolBegan, turn("codex", "new.txt"))
    wanted: dict[str, Any] = {
        "command": "*** Begin Patch\n*** Add File: /code/project/new.txt\n+hello\n*** End Patch"
    }
    assert began.input == wanted
