"""What is said of something that cannot be taken as it is: the same on every transport."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rookery.operations.operation import Params, misshapen


class Wanted(Params):
    number: int
    names: tuple[str, ...] = ()


@pytest.mark.spec("I1")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"number": "x"}, "number: Input should be a valid integer"),
        ({"number": 1, "names": ["a", 2]}, "names.1: Input should be a valid string"),
    ],
)
def test_the_first_fault_is_said_with_its_place(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Wanted.model_validate(given)

    told = str(misshapen(refused.value.errors()))
    assert told.startswith(f"Invalid input: {said}")
