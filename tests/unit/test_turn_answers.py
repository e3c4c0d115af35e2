"""How the texts of a transcript complete what other sources report about a turn."""

from __future__ import annotations

import pytest

from rookery.model.facts import (
    Fact,
    InputSettled,
    PromptFound,
    SessionId,
    TranscriptFound,
    TurnEnded,
    TurnStarted,
)
from rookery.model.turn_texts import Answer, contains_in_order, explained

S = SessionId("s")
FOUND = Answer("Done.", "/transcript", "failed", "Go.")


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("observed", "completed"),
    [
        (TurnStarted(S, ""), [TurnStarted(S, "Go.")]),
        (TurnStarted(S, "Stay."), [TurnStarted(S, "Stay.")]),
        (
            TurnEnded(S),
            [
                PromptFound(S, "Go."),
                TranscriptFound(S, "/transcript"),
                TurnEnded(S, "Done.", "failed"),
            ],
        ),
        (
            TurnEnded(S, "", "interrupted"),
            [PromptFound(S, "Go."), TurnEnded(S, "", "interrupted")],
        ),
        (InputSettled(S), [InputSettled(S)]),
    ],
)
def test_a_transcript_adds_its_texts_to_what_was_only_observed(
    observed: Fact, completed: list[Fact]
) -> None:
    assert FOUND.added_to([observed]) == completed


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("told", "answer", "completed"),
    [
        (TurnEnded(S, "DoDone."), Answer("Done."), TurnEnded(S, "Done.")),
        (TurnEnded(S, "Done."), Answer(), TurnEnded(S, "Done.")),
        (
            TurnEnded(S, "", "failed"),
            Answer("Why.", how="failed"),
            TurnEnded(S, "Why.", "failed"),
        ),
        (
            TurnEnded(S, "", "failed"),
            Answer(how="interrupted"),
            TurnEnded(S, "", "interrupted"),
        ),
        (TurnEnded(S, "", "failed"), Answer("Done."), TurnEnded(S, "", "failed")),
        (TurnStarted(S, "Go."), Answer("Done."), TurnStarted(S, "Go.")),
    ],
)
def test_a_transcript_explains_what_a_stop_hook_omits(
    told: Fact, answer: Answer, completed: Fact
) -> None:
    assert explained(told, answer) == completed


@pytest.mark.spec("C8")
@pytest.mark.parametrize(
    ("told", "said", "is_same"),
    [
        ("One.", ["One."], True),
        ("One.Two.Two.", ["One.", "Two."], True),
        ("Two.One.", ["One.", "Two."], False),
        ("One.", ["One.", "Two."], False),
        ("One.", [], False),
    ],
)
def test_a_hook_that_repeats_parts_reports_the_same_as_the_transcript(
    told: str, said: list[str], is_same: bool
) -> None:
    assert contains_in_order(told, said) is is_same
