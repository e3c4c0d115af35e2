"""Print permission requests: in one line that marks omissions, or in full."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from rookery.cli.render import say
from rookery.client.permissions import RequestInfo
from rookery.model.permissions import DIALOG
from rookery.model.short_texts import shortened
from rookery.presentation.texts import plain

#: Characters of a request shown in a list.
MAX_LINE_CHARACTERS = 300

_UNLIMITED = sys.maxsize

#: Input fields that only comment on a command, if the input has one.
_COMMENTS = frozenset({"description"})


def in_one_line(text: str, limit: int = MAX_LINE_CHARACTERS) -> str:
    """Return a text as one line, with its line breaks and any cut marked."""
    lines = (" ".join(each.split()) for each in plain(text).splitlines())
    return shortened(" ↵ ".join(each for each in lines if each), limit)


def hidden_fields(request: RequestInfo) -> list[str]:
    """Return the input fields that the line about a request does not show."""
    tool_input = request.input
    if request.questions or tool_input.get("plan"):
        return []
    shown = in_one_line(request.message, _UNLIMITED)
    comments = _COMMENTS if "command" in tool_input else frozenset()
    return [
        name
        for name, value in tool_input.items()
        if name not in comments and not _is_in(shown, _text(value))
    ]


def _is_in(shown: str, value: str) -> bool:
    whole = in_one_line(value, _UNLIMITED)
    return whole in shown or json.dumps(value, ensure_ascii=False) in shown


def is_partial(request: RequestInfo) -> bool:
    """Return whether the line about a request omits part of it."""
    if in_one_line(request.message) != in_one_line(request.message, _UNLIMITED):
        return True
    has_lines = any("\n" in _text(each).strip() for each in request.input.values())
    return not request.questions and (has_lines or bool(hidden_fields(request)))


def show_input(request: RequestInfo) -> None:
    """Print all input fields of a request in full."""
    say(f"    tool: {in_one_line(request.tool)}")
    for name, value in request.input.items():
        if (request.tool, name) == (DIALOG, "subjects"):
            continue  # parts of the dialog's text, by which it is recognised
        for each in _field(plain(name), plain(_text(value))):
            say(each)


def _field(name: str, value: str) -> Iterator[str]:
    lines = value.splitlines() or [""]
    if len(lines) == 1:
        yield f"    {in_one_line(name)}: {value}"
        return
    yield f"    {in_one_line(name)}:"
    # The margin prevents lines of a value from looking like another field.
    yield from (f"      | {each}".rstrip() for each in lines)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
