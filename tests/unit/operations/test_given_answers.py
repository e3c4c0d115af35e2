"""What a person means who answers a question with a number."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rookery.model.errors import BadInput
from rookery.model.facts import SessionId
from rookery.model.permissions import Outcome, Question, Request, RequestId
from rookery.operations.answer_parsing import chosen, given_answers

COLOURS = ("Red", "Blue")


def asking(*questions: Question) -> Request:
    return Request(
        id=RequestId("r1"),
        session=SessionId("s"),
        kind="question",
        tool="AskUserQuestion",
        input={},
        questions=questions,
        message="",
        outcome=Outcome.OPEN,
        asked_at=datetime.now(UTC),
        deadline=None,
        by_keys=False,
    )


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("options", "given", "meant"),
    [
        (COLOURS, "2", "Blue"),
        (COLOURS, "02", "Blue"),
        (COLOURS, "blue", "Blue"),
        (COLOURS, "blu", "Blue"),
        (("Blue", "Blue-green"), "blue", "Blue"),
        ((), "3", "3"),
        (("2", "4", "8"), "4", "4"),
        (("2", "4", "8"), "3", "8"),
        (("1", "2"), "2", "2"),
    ],
)
def test_a_number_is_that_of_an_option(
    options: tuple[str, ...], given: str, meant: str
) -> None:
    assert chosen(options, given, request="r1") == meant


@pytest.mark.spec("D5")
@pytest.mark.parametrize("given", ["3", "0", "12", "9" * 10_000])
def test_a_number_of_no_option_is_refused_with_those_that_there_are(given: str) -> None:
    with pytest.raises(BadInput, match=r"none of the options: 1\. Red, 2\. Blue\.") as refused:
        chosen(COLOURS, given, request="r1")

    assert len(str(refused.value)) < 300
    assert "--text" in str(refused.value)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("given", ["blau", "neither", "3 of them", "²", ""])
def test_a_typo_is_not_taken_for_free_text(given: str) -> None:
    with pytest.raises(BadInput, match=r"none of the options: 1\. Red, 2\. Blue\."):
        chosen(COLOURS, given, request="r1")


@pytest.mark.spec("D5")
def test_the_beginning_of_two_options_is_refused() -> None:
    with pytest.raises(BadInput, match="may be the one or the other"):
        chosen(("Blue", "Black"), "bl", request="r1")


@pytest.mark.spec("D5")
def test_a_number_that_may_mean_two_options_is_refused() -> None:
    with pytest.raises(BadInput, match=r"the one or the other: 1\. 2, 2\. 4\."):
        chosen(("2", "4"), "2", request="r1")


@pytest.mark.spec("D5")
@pytest.mark.parametrize("own_words", [False, True])
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Yes, all,No", ("Yes, all", "No")),
        ("no, yes, ALL", ("No", "Yes, all")),
        ("Yes, all,Yes, all", ("Yes, all", "Yes, all")),
        ("Yes,No", ("Yes", "No")),
        ("No", ("No",)),
    ],
)
def test_several_options_are_separated_by_commas_but_not_within_their_names(
    given: str, meant: tuple[str, ...], *, own_words: bool
) -> None:
    questions = (
        Question("Which tests?", ("Yes", "Yes, all", "No"), takes_several=True),
        Question("Which database?"),
    )

    answers = given_answers(asking(*questions), (given, "DuckDB"), own_words=own_words)

    assert answers == {"Which tests?": meant, "Which database?": ("DuckDB",)}


@pytest.mark.spec("D5")
@pytest.mark.parametrize("given", ["", "No,,Yes", "No,"])
def test_a_missing_option_among_several_is_refused(given: str) -> None:
    questions = (Question("Which?", ("Yes", "No"), takes_several=True), Question("Why?"))

    with pytest.raises(BadInput, match="none of the options"):
        given_answers(asking(*questions), (given, "so"), own_words=False)
