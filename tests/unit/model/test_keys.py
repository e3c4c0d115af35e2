from __future__ import annotations

import pytest

from rookery.model.errors import BadInput
from rookery.model.keys import KEY_NAMES, named_keys
from rookery.runtimes.tmux import safe_input


@pytest.mark.spec("B5")
def test_a_key_without_a_name_is_bad_input() -> None:
    assert named_keys("enter", "escape", "ctrl-c", "1") == ("enter", "escape", "ctrl-c", "1")

    with pytest.raises(BadInput, match="Any-Key"):
        named_keys("enter", "Any-Key")


@pytest.mark.spec("B5")
def test_tmux_knows_each_key_that_has_a_name() -> None:
    assert tuple(safe_input.KEYS) == KEY_NAMES


@pytest.mark.spec("B5")
@pytest.mark.parametrize(
    ("given", "name"),
    [
        *(("Enter", "enter"), ("C-c", "ctrl-c"), ("C-D", "ctrl-d"), ("^c", "ctrl-c")),
        *(("Escape", "escape"), ("Up", "up"), ("BTab", "shift-tab"), ("BSpace", "backspace")),
        *(("PageUp", "page-up"), ("NPage", "page-down"), ("Y", "y"), ("Ctrl-U", "ctrl-u")),
    ],
)
def test_tmuxs_names_of_keys_and_any_case_are_understood(given: str, name: str) -> None:
    assert named_keys(given) == (name,)
