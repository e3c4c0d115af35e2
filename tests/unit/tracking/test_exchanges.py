"""Which answer in a transcript is that of a turn, if people type prompts by hand, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rookery.model.turn_texts import Answer
from rookery.ports.transcript import Kind, Passage
from rookery.tracking.exchanges import AskedTurn, answer_of, begun, divide, ended, since_turn

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


# What a session file without hooks reports.

ASKED = passage(14, "prompt", "three"), passage(15, "call", "Bash ls")
FIRST = Answer("the first", prompt="one")
STOPPED = Answer(how="interrupted", prompt="three")


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def end(prompt: str, *passages: Passage, since: float = 30, started_at: float = 8) -> Answer:
    turn = AskedTurn(prompt, at(started_at))
    return ended(divide(passages), turn, at=at(since), unfinished="finished")


@pytest.mark.spec("C8", "A7")
def test_a_turn_that_began_has_its_own_prompt_and_the_turns_before_it_are_told() -> None:
    found = begun(divide([*ONE, *TWO, *ASKED]), at=at(14))

    assert found == Answer(prompt="three", earlier=(FIRST, SECOND))


@pytest.mark.spec("C8", "A7")
def test_a_turn_whose_prompt_is_not_written_yet_does_not_get_the_prompt_before_it() -> None:
    assert begun(divide([*ONE, *TWO]), at=at(14)) == Answer(earlier=(FIRST, SECOND))
    assert begun([], at=at(14)) == Answer()


@pytest.mark.spec("C8", "A7")
def test_a_turn_that_answers_in_parts_is_not_over() -> None:
    assert begun(divide([*ONE, *TWO]), at=at(12)) == Answer(
        prompt="two by hand", earlier=(FIRST,)
    )


@pytest.mark.spec("C8", "A7")
@pytest.mark.parametrize("prompt", ["one", ""])
def test_a_turn_that_is_over_has_its_own_answer_and_those_after_it_have_theirs(
    prompt: str,
) -> None:
    found = end(prompt, *ONE, *TWO)

    assert found == Answer("the first", prompt="" if prompt else "one", others=(SECOND,))


@pytest.mark.spec("C8")
def test_a_turn_without_an_entry_after_its_prompt_was_interrupted() -> None:
    assert end("one", ONE[0]) == Answer(how="interrupted")
    assert end("three", *ASKED) == Answer()
    assert end("/model", passage(9, "prompt", "/model")) == Answer()


@pytest.mark.spec("C8", "B7")
@pytest.mark.parametrize(("started_at", "is_running"), [(8, False), (40, True)])
def test_a_turn_that_began_after_its_agent_was_idle_has_not_ended(
    started_at: float, is_running: bool
) -> None:
    assert end("new", started_at=started_at) == Answer(is_running=is_running)


@pytest.mark.spec("C8")
def test_commands_that_the_program_runs_itself_are_no_missed_turns() -> None:
    command = passage(1, "prompt", "/model"), passage(2, "words", "Set model to it.")
    shell = passage(3, "prompt", "! ls"), passage(4, "result", "a b")
    answered = passage(5, "prompt", "! pwd"), passage(6, "words", "You are here.")

    found = begun(divide([*command, *shell, *answered, *ASKED]), at=at(14))

    assert found.earlier == (Answer("You are here.", prompt="! pwd"),)


@pytest.mark.spec("C8", "A7")
@pytest.mark.parametrize(
    ("last", "ended_at", "left"),
    [
        ("one", 11.5, TWO),
        # The next prompt was typed ahead, before the end was recorded.
        ("one", 12.5, TWO),
        ("one", 20, TWO),
        ("two by hand", 20, ()),
        ("of another file", 11.5, TWO),
        ("", 11.5, TWO),
        (None, 0, (*ONE, *TWO)),
    ],
)
def test_what_follows_the_last_known_turn_is_new(
    last: str | None, ended_at: float, left: tuple[Passage, ...]
) -> None:
    known = None if last is None else AskedTurn(last, at(9))

    found = since_turn([*ONE, *TWO], known, ended_at=at(ended_at))

    assert tuple(found) == left


@pytest.mark.spec("C8", "A7")
def test_of_equal_prompts_none_is_new_that_may_be_known() -> None:
    again = passage(14, "prompt", "one"), passage(15, "words", "the first")

    assert not since_turn([*ONE, *again], AskedTurn("one", at(9)), ended_at=at(20))
