"""Texts that the command line and the terminal interface have in common."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rookery.client.decoding import read
from rookery.client.permissions import RequestInfo
from rookery.client.sessions import EvidenceInfo
from rookery.presentation.answers import delivery_problem, given_answers
from rookery.presentation.diffs import DiffLineKind, kind_of_line
from rookery.presentation.evidence import certainty, headline, hook_problems, sharing_note
from rookery.presentation.tool_lines import call_text
from tests.support.cli import session

pytestmark = pytest.mark.spec("I5")

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
BEFORE = (NOW - timedelta(minutes=5)).isoformat()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("+++ b/x", DiffLineKind.HEADER),
        ("--- a/x", DiffLineKind.HEADER),
        ("index 1..2", DiffLineKind.HEADER),
        ("+new", DiffLineKind.ADDED),
        ("-old", DiffLineKind.REMOVED),
        ("@@ -1 +1 @@", DiffLineKind.HUNK),
        (" same", DiffLineKind.UNCHANGED),
        ("", DiffLineKind.UNCHANGED),
    ],
)
def test_the_lines_of_a_difference_are_told_apart(text: str, kind: DiffLineKind) -> None:
    assert kind_of_line(text) is kind


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        (
            {"outcome": "open", "reason": "it moved"},
            "the answer was not delivered: it moved.",
        ),
        (
            {"outcome": "gone", "delivery": "pressed", "reason": "it ended"},
            "the answer may have taken effect: it ended.",
        ),
        (
            {"outcome": "allowed", "delivery": "due"},
            "it is not known yet whether the answer was taken; check again.",
        ),
        ({"outcome": "allowed", "delivery": "done"}, ""),
    ],
)
def test_an_answer_that_did_not_arrive_says_so(known: dict[str, object], problem: str) -> None:
    assert delivery_problem(read(RequestInfo, known)) == problem


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ('Bash {"command": "touch a.txt", "description": "Make it"}', "Bash — touch a.txt"),
        ("Skill {}", "Skill"),
        ("shell ls -l", "shell ls -l"),
        ('Write {"content": "very lo…', 'Write {"content": "very lo…'),
        ("Count [1, 2]", "Count [1, 2]"),
    ],
)
def test_a_call_of_a_transcript_reads_like_other_calls(call: str, text: str) -> None:
    assert call_text(call) == text


def test_the_answers_to_several_questions_are_one_text() -> None:
    answers = {"Which?": ["a", "b"], "Why?": ["so"]}

    assert given_answers(read(RequestInfo, {"answers": answers})) == "a, b; so"


def test_a_state_is_told_with_its_duration_and_reason() -> None:
    idle = session("a", since=BEFORE, reason="finished")

    assert headline(idle, "", NOW) == "a: idle for 5m (finished)"
    assert headline(idle, "ended by you", NOW) == "a: ended by you 5m ago."


def test_what_limits_a_session_is_told() -> None:
    fields = {"hooks_off": "a setting", "hooks_problem": "No hook", "shares_with": ["b", "c"]}
    evidence = read(EvidenceInfo, {"confidence": "sure", **fields})

    assert certainty(evidence) == "This is sure."
    assert certainty(read(EvidenceInfo, {"trouble": "Full."})).endswith("out of date. Full.")
    disabled = "Its hooks are disabled by a setting: no rule applies to it."
    assert [*hook_problems(evidence)] == [disabled, "No hook."]
    assert sharing_note(evidence).startswith("It shares one conversation with b, c:")
