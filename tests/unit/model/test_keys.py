from __future__ import annotations

import pytest

from rookery.model.errors import BadInput
from rookery.model.keys import KEY_NAMES, check_keys
from rookery.runtimes.tmux import safe_input


@pytest.mark.spec("B5")
def test_a_key_without_a_name_is_bad_input() -> None:
    check_keys("enter", "escape", "ctrl-c", "up", "down", "1")

    with pytest.raises(BadInput, match="any-key"):
        check_keys("enter", "any-key")


@pytest.mark.spec("B5")
def test_tmux_knows_each_key_that_has_a_name() -> None:
    assert tuple(safe_input.KEYS) == KEY_NAMES
