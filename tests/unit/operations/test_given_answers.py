"""What a person means who answers a question with a number."""

from __future__ import annotations

import pytest

from rookery.model.errors import BadInput
from rookery.operations.answer_parsing import chosen

COLOURS = ("Red", "Blue")


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
