"""The hooks of a settings file, in Claude Code's format. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

#: Seconds a hook has when its settings do not say.
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Command:
    words: tuple[str, ...]
    timeout: float  #: seconds


Hooks = Mapping[str, tuple[Command, ...]]


def read(text: str) -> Hooks:
    """Read the commands of each event. Raises ValueError if ``text`` is not JSON."""
    match json.loads(text):
        case {"hooks": {} as events}:
            return {str(event): tuple(_commands(groups)) for event, groups in events.items()}
        case _:
            return {}


def _commands(groups: object) -> Iterator[Command]:
    for group in groups if isinstance(groups, list) else ():
        match group:
            case {"hooks": [*hooks]}:
                yield from (command for hook in hooks for command in _command(hook))


def _command(hook: object) -> list[Command]:
    match hook:
        case {"type": "command", "command": str(words), "timeout": int() | float() as timeout}:
            return _split(words, float(timeout))
        case {"type": "command", "command": str(words)}:
            return _split(words, DEFAULT_TIMEOUT)
        case _:
            return []


def _split(words: str, timeout: float) -> list[Command]:
    try:
        split = tuple(shlex.split(words))
    except ValueError:
        return []
    return [Command(split, timeout)] if split else []
