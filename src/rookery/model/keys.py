"""The names of the keys that can be pressed in a session's terminal."""

from __future__ import annotations

import re
import string

from rookery.model.errors import BadInput

KEY_NAMES = (
    *("enter", "escape", "esc", "tab", "shift-tab", "space", "backspace"),
    *("up", "down", "left", "right", "home", "end", "page-up", "page-down"),
    *(f"ctrl-{letter}" for letter in string.ascii_lowercase),
    *string.digits,
    *"yn",
)


#: The other names of keys, mainly those of tmux, in small letters.
_ALIASES = {
    "return": "enter",
    "btab": "shift-tab",
    "s-tab": "shift-tab",
    "bspace": "backspace",
    "ppage": "page-up",
    "pageup": "page-up",
    "pgup": "page-up",
    "npage": "page-down",
    "pagedown": "page-down",
    "pgdn": "page-down",
}

#: What precedes the letter of a key with Ctrl.
_CTRL = re.compile(r"(?:c-|\^|ctrl\+)(?=[a-z]$)")


def named_keys(*keys: str) -> tuple[str, ...]:
    """Return the names of keys in ``KEY_NAMES``; tmux's names and capitals are understood.

    Raises ``BadInput`` for an unknown key.
    """
    named = tuple(_named(key.lower()) for key in keys)
    for given, name in zip(keys, named, strict=True):
        if name not in KEY_NAMES:
            raise BadInput(f"no key is called {given!r}. There are: {', '.join(KEY_NAMES)}")
    return named


def _named(key: str) -> str:
    return _ALIASES.get(key) or _CTRL.sub("ctrl-", key)
