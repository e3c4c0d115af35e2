"""The scripted model's language."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scripted_model import script
from tests.support.scripted_model.steps import (
    Call,
    Cut,
    Error,
    Gate,
    Result,
    Saw,
    Say,
    Shell,
    Sleep,
    Slow,
    Step,
    Stop,
    StreamError,
    Think,
    Usage,
    Write,
)
from tests.support.scripted_model.tools import named


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("say: Hello, you", Say("Hello, you")),
        (r"say: two\nlines", Say("two\nlines")),
        ("- say:tight", Say("tight")),
        ("words: 3", Say("word0 word1 word2")),
        ("think: deep", Think("deep")),
        ('tool: Read {"path": "a;;b"}', Call("Read", {"path": "a;;b"})),
        ('tool: Read {"path":\n "a"}', Call("Read", {"path": "a"})),
        ("tool: Read", Call("Read", {})),
        ('and: Read {"n": 1}', Call("Read", {"n": 1}, is_parallel=True)),
        ("bash: ls -l", Shell("ls -l")),
        ("write: a.txt some words", Write("a.txt", "some words")),
        ("result:", Result()),
        ("saw: [0-9]+", Saw("[0-9]+")),
        ("sleep: 0.5", Sleep(0.5)),
        ("slow: 20", Slow(20)),
        ("gate: one", Gate("one")),
        ("usage: in=1 out=2 cache_read=3 cache_write=4", Usage(1, 2, 3, 4)),
        ("usage: out=0", Usage(None, 0)),
        ("stop: max_tokens", Stop("max_tokens")),
        ("error: 529", Error(529, None, "scripted error")),
        ("error: 429 x2 slow down", Error(429, 2, "slow down")),
        ("sse_error:", StreamError("overloaded_error")),
        ("cut:", Cut()),
        ("hang:", Sleep(math.inf)),
    ],
)
def test_a_directive_is_a_step(line: str, step: Step) -> None:
    assert list(script.read(line)) == [step]


@pytest.mark.parametrize(
    "line",
    [
        "words: many",
        "tool: {}",
        "tool: Read {",
        "sleep: long",
        "saw: (",
        "error: 200",
        "cut: x",
    ],
)
def test_a_directive_that_is_not_understood_says_so(line: str) -> None:
    assert list(script.read(line)) == [Say(f"Not understood: {line}")]


def test_what_is_no_directive_is_ignored() -> None:
    assert list(script.read("please essay: x\nsay: a;;say: b ; c\nthank you")) == [
        Say("a"),
        Say("b ; c"),
    ]


def test_a_call_ends_a_response_and_parallel_calls_share_one() -> None:
    steps = script.read("say: a;; bash: b;; and: C;; say: d;; bash: e")

    assert script.responses(steps) == [
        (Say("a"), Shell("b"), Call("C", {}, is_parallel=True)),
        (Say("d"), Shell("e")),
        (),
    ]


@pytest.mark.parametrize(("calls", "number"), [(0, 0), (1, 1), (2, 1), (3, 2), (9, 2)])
def test_the_calls_that_were_made_tell_which_response_is_due(calls: int, number: int) -> None:
    parts = script.responses(script.read("bash: a;; and: B;; bash: c;; say: d"))

    assert script.due(parts, calls) == number


@given(st.lists(st.sampled_from(["say: a", "bash: b", "and: C", "gate: d", "x", "tool: {"])))
def test_no_step_is_lost_and_each_response_comes_in_its_turn(lines: list[str]) -> None:
    steps = list(script.read("\n".join(lines)))

    parts = script.responses(steps)

    assert [step for part in parts for step in part] == steps
    calls = 0
    for number, part in enumerate(parts):
        assert script.due(parts, calls) == number
        calls += sum(isinstance(step, (Call, Shell)) for step in part)


@given(st.text(), st.sampled_from(["tool", "usage", "error", "saw", "sleep", "write"]))
def test_any_prompt_can_be_read(text: str, verb: str) -> None:
    assert list(script.read(f"{verb}: {text}"))


def test_a_prompt_that_only_says_what_to_use_is_obeyed() -> None:
    prompt = "It is done. Use rookery__get_session_data(computer='here', session_id='1a')"

    call, result = script.hinted(prompt)

    arguments = {"computer": "here", "session_id": "1a"}
    assert call == Call("rookery__get_session_data", arguments)
    assert isinstance(result, Result)
    assert list(script.hinted("Use rookery__send_message(computer='here', ...)")) == []
    answer, _ = script.hinted("Use rookery__send_message(computer='h', answer_to='r1', ...)")
    assert answer == Call(
        "rookery__send_message", {"computer": "h", "answer_to": "r1", "message": "2"}
    )


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        ([], "mcp__rookery__list_sessions"),
        (["Bash", "mcp_rookery_list_sessions"], "mcp_rookery_list_sessions"),
    ],
)
def test_a_tool_of_ours_is_known_whatever_stands_before_its_name(
    tools: list[str], name: str
) -> None:
    assert named(Call("rookery__list_sessions", {}), tools).name == name
