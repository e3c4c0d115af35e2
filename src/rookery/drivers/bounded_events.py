"""Cut what an agent reports to a depth and a size that all readers can take. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rookery.drivers.events import (
    Asked,
    Event,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    TurnOver,
    Used,
)
from rookery.model.short_texts import shortened

#: Levels of lists and objects in an input, as in the payload of a hook. Pydantic writes no more
#: than 255, and Python's recursion has a limit, too.
MAX_NESTING = 100

#: Characters of an input as JSON that are kept of a call that is decided, as of the payload of
#: a hook, and of one that is only shown.
MAX_DECIDED_CHARACTERS, MAX_SHOWN_CHARACTERS = 8 * 2**20, 2**18

#: Characters of each field of an input that is longer than that.
MAX_FIELD_CHARACTERS = 2_000


#: The largest number of tokens that is believed: the sum of many must fit into the database.
MAX_TOKENS = 10**12

#: Characters of a text, such as the answer of a turn.
MAX_TEXT_CHARACTERS = 8 * 2**20


def bounded_event(event: Event) -> Event:
    """Return an event of limited depth and size; itself if nothing is cut."""
    match event:
        case TextAdded(text) | ThoughtAdded(text) | TurnOver(text):
            is_long = len(text) > MAX_TEXT_CHARACTERS
            return (
                replace(event, text=shortened(text, MAX_TEXT_CHARACTERS)) if is_long else event
            )
        case ToolBegan(input=given):
            return replace(event, input=bounded_input(given, MAX_SHOWN_CHARACTERS))
        case Asked(input=given):
            kept = bounded_input(given, MAX_DECIDED_CHARACTERS)
            return event if kept is given else replace(event, input=kept, is_exact=False)
        case Used():
            names = ("input_tokens", "output_tokens", "context")
            counts = {name: getattr(event, name) for name in names}
            if all(0 <= each <= MAX_TOKENS for each in counts.values()):
                return event
            believed = {name: min(max(each, 0), MAX_TOKENS) for name, each in counts.items()}
            return replace(event, **believed)
        case _:
            return event


def bounded_input(given: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Return an input of limited depth and size; itself if nothing is cut.

    All fields keep their names: a rule may name any of them.
    """
    shallow = without_deep_values(given)
    if len(json.dumps(shallow, default=str)) <= limit:
        return shallow
    return {name: _short(value) for name, value in shallow.items()}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return shortened(text, MAX_FIELD_CHARACTERS)


def without_deep_values(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an input with null for what is nested too deep; itself if there is nothing."""
    return _cut(given, MAX_NESTING) if _is_deeper(given, MAX_NESTING) else given


def _is_deeper(value: object, levels: int) -> bool:
    inner = _inner(value)
    if inner is None:
        return False
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def _inner(value: object) -> list[object] | None:
    """Return what a list or an object holds; ``None`` for any other value."""
    match value:
        case Mapping():
            return [*value.values()]
        case list() | tuple():
            return [*value]
        case _:
            return None


def _cut(value: Any, levels: int) -> Any:  # noqa: ANN401 - JSON
    match value:
        case Mapping() if levels:
            return {name: _cut(each, levels - 1) for name, each in value.items()}
        case list() | tuple() if levels:
            return [_cut(each, levels - 1) for each in value]
        case Mapping() | list() | tuple():
            return None
        case _:
            return value
