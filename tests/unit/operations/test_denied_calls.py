from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rookery.model.facts import SessionId
from rookery.operations.denied_calls import mark_calls, mark_failures, mark_passages
from rookery.ports.transcript import Passage
from rookery.store.audit import Decided
from rookery.store.tool_calls import ToolCall

pytestmark = pytest.mark.spec("C7", "I5")

START = datetime(2026, 11, 18, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def denial(seconds: int, command: str, *, by: str = "person", rule: str = "") -> Decided:
    given = {"command": command}
    return Decided(at(seconds), SessionId("a"), "demo", "Bash", given, "denied", by, rule)


def call(number: int, seconds: int, command: str) -> ToolCall:
    return ToolCall(number, 1, at(seconds), "Bash", command)


def test_a_denial_marks_the_last_call_with_its_input() -> None:
    calls = [call(1, 0, "rm"), call(2, 5, "rm"), call(3, 6, "ls"), call(4, 20, "rm")]

    marked = mark_calls(calls, [denial(10, "rm", by="rule", rule="no-rm")])

    assert [(each.denied_by, each.rule) for each in marked] == [
        *(("", ""), ("rule", "no-rm"), ("", ""), ("", "")),
    ]


def test_two_denials_mark_two_calls() -> None:
    marked = mark_calls(
        [call(1, 0, "rm"), call(2, 5, "rm")], [denial(1, "rm"), denial(6, "rm")]
    )

    assert [each.denied_by for each in marked] == ["person", "person"]


def test_a_denial_marks_the_nearest_passage_of_its_call() -> None:
    text = 'Bash {"command": "rm"}'
    passages = [
        Passage(at(0), "call", text),
        Passage(at(50), "call", text),
        Passage(at(50), "result", text),
    ]

    marked = mark_passages(passages, [denial(48, "rm")])

    assert [each.denied_by for each in marked] == ["", "person", ""]


def test_a_failure_marks_the_call_with_its_id() -> None:
    calls = [replace(call(number, 0, "ls"), call_id=f"c{number}") for number in (1, 2)]

    marked = mark_failures([*calls, call(3, 0, "ls")], {"c2": "Exit code 2"})

    assert [each.failure for each in marked] == ["", "Exit code 2", ""]
