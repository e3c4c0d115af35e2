"""Clean texts of agents before a terminal prints them."""

from __future__ import annotations

import re

#: Characters that change the direction of text.
TURNING_CHARACTERS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"

#: Characters without a width that join nothing: with them, two different texts look alike.
_INVISIBLE = "\u200b\u2060-\u2064\ufeff"

#: Agents' texts are printed and must not control the terminal. Some terminals and programs take
#: U+2028 and U+2029 for the end of a line, and others do not.
_CONTROL = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{TURNING_CHARACTERS}{_INVISIBLE}]"
)

#: Line breaks: in a table, text after one would look like a row.
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")

#: What programs print to colour text, to move the cursor and to name the window.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
)


def plain(text: str) -> str:
    """Return text without control characters; tabs and line ends stay."""
    return _CONTROL.sub("", text)


def without_escapes(text: str) -> str:
    """Return text without control characters and the sequences that begin with one."""
    return plain(_ESCAPES.sub("", text))


def one_line(text: str) -> str:
    """Return text without control characters and line breaks."""
    # Fast path: printable text contains neither.
    return text if text.isprintable() else plain(_BREAKS.sub(" ", text))


def as_sentence(text: str) -> str:
    """Return a text as a sentence: with a full stop, unless it has an end of its own."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
