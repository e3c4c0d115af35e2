"""Which answer in a transcript is that of a turn, if people type prompts by hand, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rookery.model.turn_texts import Answer
from rookery.ports.transcript import Kind, Passage
from rookery.tracking.exchanges import AskedTurn, answer_of, divide

pytestmark = pytest.mark.spec("F3")

NOW = datetime(2026, 11, 1, tzinfo=UTC)

RUNNING = Answer(prompt="two by hand", is_running=True)


def passage(at: float, kind: Kind, text: str) -> Passage:
    return Passage(NOW + timedelta(seconds=at), kind, text)


def answer(prompt: str, *passages: Passage, started_at: float = 10) -> Answer:
    turn = AskedTurn(prompt, NOW + timedelta(seconds=started_at))
    return answer_of(divide(passages), turn)


ONE = passage(9, "prompt", "one"), passage(11, "words", "the first")
TWO = passage(12, "prompt", "two by hand"), passage(13, "words", "the second")
SECOND = Answer("the second", prompt="two by hand")


def test_a_prompt_that_was_typed_during_a_turn_is_a_turn_of_its_own() -> None:
    assert answer("one", *ONE, *TWO) == Answer("the first", others=(SECOND,))


def test_a_prompt_that_was_typed_during_a_turn_may_still_be_worked_on() -> None:
    assert answer("one", *ONE, TWO[0]) == Answer("the first", others=(RUNNING,))


def test_a_prompt_by_hand_that_was_stopped_for_another_has_no_answer() -> None:
    stopped = Answer(how="interrupted", prompt="two by hand")

    assert answer("one", TWO[0], *ONE) == Answer("the first", others=(stopped,))


def test_a_command_does_not_take_the_answer_to_a_prompt_before_it() -> None:
    assert answer("/stats", *TWO, started_at=20) == Answer(others=(SECOND,))


def test_a_command_that_becomes_a_prompt_has_its_answer() -> None:
    found = answer(
        "/review", passage(20, "prompt", "Look at it."), passage(21, "words", "Good.")
    )

    assert found == Answer("Good.", others=())


def test_a_prompt_that_its_program_rewrote_has_its_answer() -> None:
    found = answer(
        "read @it", passage(9, "prompt", "read it: …"), passage(11, "words", "Read.")
    )

    assert found == Answer("Read.")


def test_what_goes_on_from_before_the_last_end_is_the_turns_own() -> None:
    assert answer("two by hand", passage(11, "words", "the second")) == Answer("the second")


def test_a_prompt_from_before_a_turn_is_not_taken_for_its_own() -> None:
    old = passage(1, "prompt", "old"), passage(2, "words", "old answer")

    assert answer("new", *old) == Answer(others=(Answer("old answer", prompt="old"),))
