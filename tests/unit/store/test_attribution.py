"""Which open turn a prompt or an answer belongs to, as real agents number them."""

from __future__ import annotations

import pytest

from rookery.model.attribution import OpenTurn, StopShare, is_queued, resumed, share

pytestmark = pytest.mark.spec("E7")


def test_a_stop_answers_the_turn_with_its_id() -> None:
    assert share([OpenTurn(1, "a")], "a") == StopShare(answered=(1,))


def test_a_stop_without_an_id_answers_all_that_are_open() -> None:
    turns = [OpenTurn(1, "a"), OpenTurn(2, "a", "waiting"), OpenTurn(3)]

    assert share(turns, "") == StopShare(answered=(1, 2, 3))


def test_a_stop_with_an_unknown_id_answers_a_turn_that_was_only_seen_to_begin() -> None:
    assert share([OpenTurn(1)], "b") == StopShare(answered=(1,))


def test_a_prompt_typed_during_a_turn_waits_for_an_answer_of_its_own() -> None:
    turns = [OpenTurn(1, "a"), OpenTurn(2, "a", "waiting")]

    assert share(turns, "a") == StopShare(answered=(1,))
    assert share(turns[1:], "b") == StopShare(answered=(2,))


def test_a_prompt_that_the_turn_has_taken_in_is_answered_with_it() -> None:
    turns = [OpenTurn(1, "a"), OpenTurn(2, "a", "taken_in"), OpenTurn(3, "a", "waiting")]

    assert share(turns, "a") == StopShare(answered=(1, 2))


def test_all_queued_prompts_are_answered_at_once() -> None:
    turns = [OpenTurn(2, "a", "waiting"), OpenTurn(3, "a", "waiting")]

    assert share(turns, "b") == StopShare(answered=(2, 3))


def test_a_turn_that_was_interrupted_before_a_queued_prompt_has_no_answer() -> None:
    turns = [OpenTurn(1, "a"), OpenTurn(2, "a", "waiting")]

    assert share(turns, "b") == StopShare(answered=(2,), interrupted=(1,))


def test_a_turn_before_one_that_is_answered_was_interrupted() -> None:
    assert share([OpenTurn(1, "a"), OpenTurn(2, "b")], "b") == StopShare((2,), interrupted=(1,))


def test_a_turn_after_one_that_is_answered_goes_on() -> None:
    assert share([OpenTurn(1, "a"), OpenTurn(2, "b")], "a") == StopShare((1,))


def test_a_paused_turn_is_not_interrupted_by_a_prompt_typed_meanwhile() -> None:
    turns = [OpenTurn(1, "a", is_paused=True), OpenTurn(2, "b")]

    assert share(turns, "b") == StopShare((2,))


def test_only_a_prompt_with_the_id_of_an_open_turn_is_queued() -> None:
    assert is_queued([OpenTurn(1, "a")], "a")
    assert not is_queued([OpenTurn(1, "a")], "b")
    assert not is_queued([OpenTurn(1)], "")


def test_a_report_of_a_subagent_resumes_the_oldest_paused_turn() -> None:
    paused = OpenTurn(2, "b", is_paused=True)

    assert resumed([OpenTurn(1, "a"), paused, OpenTurn(3, "c", is_paused=True)]) == paused
    assert resumed([OpenTurn(1, "a")]) is None
