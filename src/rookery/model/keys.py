"""The names of the keys that can be pressed in a session's terminal."""

from __future__ import annotations

import string

from rookery.model.errors import BadInput

KEY_NAMES = (
    *("enter", "escape", "esc", "tab", "shift-tab", "space", "backspace"),
    *("up", "down", "left", "right", "home", "end", "page-up", "page-down"),
    *(f"ctrl-{letter}" for letter in string.ascii_lowercase),
    *string.digits,
    *"yn",
)


def check_keys(*keys: str) -> None:
    """Raise ``BadInput`` if a key is not in ``KEY_NAMES``."""
    if unknown := [key for key in keys if key not in KEY_NAMES]:
        raise BadInput(f"no key is called {unknown[0]!r}. There are: {', '.join(KEY_NAMES)}")
