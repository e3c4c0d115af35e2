"""The frontmatter of skills, commands and subagents: which fields it has. Pure.

Only a small, unambiguous part of YAML is read: plain names at the beginning of a line, each
with a value that may continue on indented lines. Two YAML parsers may differ about anything
else, such as a quoted name with an escape, a flow mapping or a document in the document, and a
repository could hide a field there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FENCE = "---"

#: Invisible characters that may be before the first fence.
_LEADING = "\ufeff\u200b \t\r\n\f\v\x85\xa0\u2028\u2029"

#: Characters that only some YAML parsers treat as line breaks.
_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029\f\v")

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:[ ](.*))?")
_CONTINUATION = re.compile(r"[ ].*|-(?:[ ].*)?|#.*|")


def fields(text: str) -> Mapping[str, str] | None:
    """Return the fields with the first line of each value; ``None`` if they are unclear.

    A text without frontmatter has no fields.
    """
    if not text.lstrip(_LEADING).startswith(FENCE):
        return {}
    first, *lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip(" \t") == FENCE]
    if first.rstrip(" \t") != FENCE or not ends:
        return None
    return _fields_in(lines[: ends[0]])


def _fields_in(lines: list[str]) -> Mapping[str, str] | None:
    found: dict[str, str] = {}
    for line in lines:
        # A fence inside a line ends the frontmatter for Claude, but not for YAML.
        if FENCE in line or not _OTHER_BREAKS.isdisjoint(line):
            return None
        if field := _FIELD.fullmatch(line):
            found[field[1]] = (field[2] or "").strip()
        # Before the first field, an indented line could itself be a field.
        elif not _CONTINUATION.fullmatch(line) or (not found and line.startswith((" ", "-"))):
            return None
    return found
