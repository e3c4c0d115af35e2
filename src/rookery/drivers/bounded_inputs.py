"""Cut the inputs of tool calls to a depth that every reader of them can take. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Levels of lists and objects in an input, as in the payload of a hook. Pydantic writes no more
#: than 255, and Python's recursion has a limit, too.
MAX_NESTING = 100


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
