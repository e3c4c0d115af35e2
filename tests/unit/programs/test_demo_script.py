"""The demo agent's tiny language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.programs.demo import script
from rookery.programs.demo.script import (
    AskQuestion,
    Crash,
    Exit,
    Fail,
    Say,
    ScriptStep,
    Sleep,
    Slow,
    UseTool,
)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("say: Hello, you", Say("Hello, you")),
        ("say:tight", Say("tight")),
        ("tool: Read a file.txt", UseTool("Read", "a file.txt", asks=False)),
        ("tool: Read", UseTool("Read", "", asks=False)),
        ("permission: Bash rm -rf x", UseTool("Bash", "rm -rf x", asks=True)),
        ("question: Which? | Red | Blue", AskQuestion("Which?", ("Red", "Blue"))),
        ("question: Sure?", AskQuestion("Sure?", ("Yes", "No"))),
        ("sleep: 0.5", Sleep(0.5)),
        ("slow: 20", Slow(20)),
        ("fail: no money", Fail("no money")),
        ("exit: 7", Exit(7)),
        ("crash:", Crash()),
    ],
)
def test_a_line_is_a_step(line: str, step: ScriptStep) -> None:
    assert list(script.read(line)) == [step]


@pytest.mark.parametrize(
    "line",
    ["fix the bug", "tool:", "sleep: long", "exit: soon", "exit: -1", "crash: now", "Say: a"],
)
def test_what_is_not_understood_is_echoed(line: str) -> None:
    assert list(script.read(line)) == [Say(f"Echo: {line}")]


def test_steps_are_parted_by_newlines_and_double_semicolons() -> None:
    steps = list(script.read("say: a;;say: b\n\n  ;; say: c ; d  "))

    assert steps == [Say("a"), Say("b"), Say("c ; d")]


@given(st.text())
def test_any_prompt_can_be_read(prompt: str) -> None:
    steps = list(script.read(prompt))

    assert bool(steps) == any(part.strip() for part in prompt.split(";;"))
