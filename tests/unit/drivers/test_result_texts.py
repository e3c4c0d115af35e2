"""What is kept of long results and diffs."""

from __future__ import annotations

import pytest

from rookery.drivers.result_texts import MAX_RESULT_CHARACTERS, bounded
from rookery.model.blocks import MAX_TEXT_CHARACTERS


@pytest.mark.spec("G4")
def test_a_long_result_says_how_much_is_left_out() -> None:
    text = bounded("x" * (MAX_RESULT_CHARACTERS + 1_234))

    assert text == "x" * MAX_RESULT_CHARACTERS + "… (1,234 more characters)"


@pytest.mark.spec("G4")
def test_a_cut_result_is_not_cut_again_when_it_is_stored() -> None:
    assert len(bounded("x" * 10**7)) <= MAX_TEXT_CHARACTERS
