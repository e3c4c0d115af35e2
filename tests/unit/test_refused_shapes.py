"""What is said of something that cannot be taken as it is: the same at every door."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rookery.operations.table import Params, misshapen


class Wanted(Params):
    number: int
    names: tuple[str, ...] = ()


@pytest.mark.spec("I1")
@pytest.mark.parametrize(
    ("given", "inside", "said"),
    [
        ({"number": "x"}, 0, "number: Input should be a valid integer"),
        ({"number": 1, "names": ["a", 2]}, 0, "names.1: Input should be a valid string"),
        ({"number": 1, "names": ["a", 2]}, 1, "1: Input should be a valid string"),
        ({"number": "x"}, 1, "Input should be a valid integer"),
    ],
)
def test_the_first_fault_is_said_with_its_place(
    given: dict[str, object], inside: int, said: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        Wanted.model_validate(given)

    told = str(misshapen(refused.value.errors(), inside=inside))
    assert told.startswith(f"Invalid input: {said}")
