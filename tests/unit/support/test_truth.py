"""How the truth run judges: what was so a moment ago may still be said, and nothing else."""

from __future__ import annotations

import pytest

from tests.support.prove.player import PARTS
from tests.support.prove.rounds import ROUNDS
from tests.support.prove.truth import Figures, Sample, Timeline


@pytest.fixture
def timeline() -> Timeline:
    """Give a turn: Enter at 10, the model is asked at 10.2, its last byte comes at 12."""
    made = Timeline(end=14.0)
    made.note("plain", 9.0, "idle")
    made.note("plain", 10.0, "idle", "working")
    made.note("plain", 10.2, "working")
    made.note("plain", 12.0, "idle")
    return made


def said(at: float, word: str) -> Sample:
    return Sample(at, at + 0.01, word)


@pytest.mark.parametrize(
    ("at", "word", "agrees"),
    [
        (9.5, "idle", True),
        (9.5, "working", False),
        (9.995, "working", True),  # it may have come while the answer was made
        (10.1, "idle", True),
        (10.1, "working", True),
        (10.1, "permission", False),
        (10.49, "idle", True),
        (10.51, "idle", False),
        (11.9, "idle", False),
        (12.29, "working", True),
        (12.31, "working", False),
    ],
)
def test_what_was_so_within_the_last_moments_may_be_said(
    timeline: Timeline, at: float, word: str, agrees: bool
) -> None:
    assert timeline.agrees(said(at, word)) is agrees


def test_taken_strictly_an_effect_is_there_with_its_cause(timeline: Timeline) -> None:
    strict = timeline.at_cause()

    assert [(mark.at, *mark.words) for mark in strict.marks] == [
        (9.0, "idle"),
        (10.0, "working"),
        (10.2, "working"),
        (12.0, "idle"),
    ]
    assert timeline.agrees(said(10.45, "idle"))
    assert not strict.agrees(said(10.45, "idle"))


def test_samples_before_the_first_mark_and_after_the_end_do_not_count(
    timeline: Timeline,
) -> None:
    figures = Figures()

    figures.add(timeline, [said(8.9, "starting"), said(9.1, "idle"), said(14.0, "over")])

    assert (figures.samples, figures.agreeing) == (1, 1)


def test_what_is_wrong_is_counted_by_what_was_true(timeline: Timeline) -> None:
    figures = Figures()

    figures.add(timeline, [said(11.0, "idle"), said(12.6, "working"), said(12.7, "idle")])

    assert figures.wrong == {
        "plain: working, but 'idle' was said": 1,
        "plain: idle, but 'working' was said": 1,
    }
    assert figures.share == pytest.approx(100 / 3)


def test_a_lag_is_from_when_it_was_surely_so(timeline: Timeline) -> None:
    figures = Figures()

    figures.add(timeline, [said(10.3, "idle"), said(10.4, "working"), said(12.1, "idle")])

    assert figures.lags == pytest.approx([0.2, 0.1])


def test_a_whole_run_has_three_hundred_turns_of_every_kind() -> None:
    hands = [(PARTS[agent].hand, number) for each in ROUNDS for agent, number in each.items()]

    assert sum(number * sum(hand.values()) for hand, number in hands) >= 300
    assert {sum(hand.values()) for hand, _ in hands} == {20}
