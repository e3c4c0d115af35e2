"""Escape text in arguments that tmux expands as formats."""

from __future__ import annotations

import re

#: tmux copies any run of these before a bracket unchanged: it might be a style.
_STYLE = re.compile(r"(#+\[)")


def literal(text: str) -> str:
    """Return ``text`` escaped against expansion: ``#(…)`` in a path would run a command."""
    parts = _STYLE.split(text)
    return "".join(
        part if _STYLE.fullmatch(part) else part.replace("#", "##") for part in parts
    )
