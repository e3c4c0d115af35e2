"""What the transcripts of several agents have in common: texts, tool calls, numbers of tokens.

Claude counts what came from its cache beside the rest, Codex and Gemini among it. Here it is
always among it: tokens that went in are all that went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rookery.ports.transcript import Line

#: Characters kept of what a tool was given, and of what it gave back.
MAX_CALL_CHARS, MAX_RESULT_CHARS = 500, 1_000

#: Characters of an id and of a model's name.
MAX_NAME_CHARS = 200

#: Tokens of one response; a larger number is an error.
MAX_TOKENS = 10**9


def text_of(content: Line) -> str:
    """Join what is text of a content, which may be one or in parts."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(parts: Line) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"text": str(text)} | str(text):
                yield text
            case _:
                continue


def call_of(name: str, given: Line) -> str:
    """Show the call of a tool, with the beginning of what it was given."""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return f"{name} {_shortened(text, MAX_CALL_CHARS)}"


def result_of(content: Line) -> str:
    """Show the beginning of what a tool gave back."""
    return _shortened(text_of(content), MAX_RESULT_CHARS)


def _shortened(text: str, most: int) -> str:
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most:,} characters more)"


def number_of(usage: Mapping[str, object], name: str) -> int:
    """Read a number of tokens; none is 0. Raises ``ValueError`` for what is no such number."""
    number = usage.get(name)
    if number is None:
        return 0
    if type(number) is not int or not 0 <= number <= MAX_TOKENS:
        raise ValueError(name)
    return number


def name_of(line: Mapping[str, object], field: str) -> str:
    name = line.get(field)
    return name[:MAX_NAME_CHARS] if isinstance(name, str) else ""
