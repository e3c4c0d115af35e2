"""Helpers for the transcripts of several agents: texts, tool calls, token counts.

Claude counts cached tokens separately, Codex and Gemini include them in the input tokens. Here
they are always included: input tokens contain cache reads and cache writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rookery.model.short_texts import shortened
from rookery.ports.transcript import Line

#: Characters kept of a tool's input, and of its result.
MAX_CALL_CHARS, MAX_RESULT_CHARS = 500, 1_000

#: Characters kept of an id and of a model's name.
MAX_NAME_CHARS = 200

#: The largest token count that is accepted; a larger one makes the line invalid.
MAX_TOKENS = 10**9


def text_of(content: Line) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(parts: Line) -> Iterator[str]:
    if not isinstance(parts, list):
        return
    for part in parts:
        match part:
            case {"text": str(text)} | str(text):
                yield text


def format_call(name: str, tool_input: Line) -> str:
    """Return a tool call as text, with the beginning of its input."""
    is_text = isinstance(tool_input, str)
    text = tool_input if is_text else json.dumps(tool_input, ensure_ascii=False)
    return f"{name} {shortened(text.strip(), MAX_CALL_CHARS)}"


def result_of(content: Line) -> str:
    """Return the beginning of a tool's result."""
    return shortened(text_of(content).strip(), MAX_RESULT_CHARS)


def token_count(usage: Mapping[str, object], name: str) -> int:
    """Return a token count; 0 if missing. Raises ``ValueError`` for an invalid value."""
    number = usage.get(name)
    if number is None:
        return 0
    if type(number) is not int or not 0 <= number <= MAX_TOKENS:
        raise ValueError(name)
    return number


def short_string(line: Mapping[str, object], field: str) -> str:
    """Return the beginning of a string field; empty if it is missing or no string."""
    name = line.get(field)
    return name[:MAX_NAME_CHARS] if isinstance(name, str) else ""
