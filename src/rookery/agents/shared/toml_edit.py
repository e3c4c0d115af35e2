"""Append to a TOML text and remove from it without changing any other byte. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rookery.model.errors import ConfigBroken

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_MARK = "\ufeff"

Path = tuple[str, ...]


def parse(text: str) -> dict[str, Any]:
    """Parse a text. Raises ``ConfigBroken`` with the line."""
    try:
        # Keep floats as strings: only then does every value, such as nan, equal itself.
        return tomllib.loads(text.removeprefix(_MARK), parse_float=str)
    except tomllib.TOMLDecodeError as error:
        position = _PLACE.search(str(error))
        line = position[1] if position and position[1] else text.count("\n") + 1
        raise ConfigBroken(f"line {line}: {_PLACE.sub('', str(error))}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigBroken(f"line 1: {error}") from error


def append(text: str, tables: str) -> str:
    """Append whole tables, after an empty line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = "" if not text or text.endswith("\n") else newline
    apart = newline if text else ""
    return text + ended + apart + tables.replace("\n", newline)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """The header of a table and the lines with its keys directly below."""

    path: Path
    start: int  #: index of its first line
    end: int  #: index of the first line after it


def tables(text: str) -> Iterator[TomlTable]:
    """Yield the tables. If a value has several lines, ``end`` is wrong; callers must check."""
    lines = _LINE.findall(text)
    for number, line in enumerate(lines):
        if (path := _path(line.removeprefix(_MARK))) and _is_whole("".join(lines[:number])):
            end = number + 1
            while end < len(lines) and _is_key(lines[end]):
                end += 1
            yield TomlTable(path, number, end)


def without_lines(text: str, start: int, end: int) -> str:
    """Remove lines and the empty line that separates them from the text before."""
    lines = _LINE.findall(text)
    if start and not lines[start - 1].strip():
        start -= 1
    return "".join([*lines[:start], *lines[end:]])


def string(value: str) -> str:
    """Return a value as a TOML string, also for use in a key."""
    plain = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\u{ord(c[0]):04x}", plain) + '"'


def _is_key(line: str) -> bool:
    return bool(line.strip()) and line.lstrip()[0] not in "#["


def _is_whole(text: str) -> bool:
    """Return whether a part of a text ends outside of strings and lists of several lines."""
    try:
        parse(text)
    except ConfigBroken:
        return False
    return True


def _path(line: str) -> Path:
    """Return the path in a table header; empty if the line is no header."""
    if not line.lstrip().startswith("["):
        return ()
    try:
        value: object = tomllib.loads(line)
    except ValueError:
        return ()
    path: Sequence[str] = ()
    while value:
        if isinstance(value, list):
            value = value[0]
        elif isinstance(value, dict):
            (name,) = value
            path, value = (*path, name), value[name]
    return tuple(path)
