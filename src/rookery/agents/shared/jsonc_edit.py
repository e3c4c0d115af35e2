"""Add to a JSON text and remove from it without changing any other byte. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rookery.model.errors import ConfigBroken

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")

#: The indentation for a text that has none to copy.
_DEFAULT_INDENT = "  "


def parse(text: str, *, comments: bool = False) -> Any:  # noqa: ANN401 - JSON
    """Parse a text, with comments if allowed. Raises ``ConfigBroken`` with the line."""
    return _read(_open(text, comments=comments).bare)


def parse_table(text: str) -> Mapping[str, Any]:
    """Return the object of a text with comments; empty if the agent could not parse it."""
    try:
        value = parse(text, comments=True)
    except ConfigBroken:
        return {}
    return value if isinstance(value, dict) else {}


def append(text: str, path: Sequence[str], value: object, *, comments: bool = False) -> str:
    """Append ``value`` to the list at ``path``, which is created if missing.

    The inserted text is one piece, in the layout of the text around it. Raises ``ConfigBroken``
    for a text that is not JSON or that has another type at ``path``.
    """
    page = _open(text, comments=comments)
    _read(page.bare)
    opening, missing = _descend(page, path)
    if missing:
        value = [value]
        for name in reversed(missing[1:]):
            value = {name: value}
    at, addition = _addition(page, opening, missing[0] if missing else None, value)
    return text[:at] + addition + text[at:]


def remove(text: str, path: Sequence[str | int], *, comments: bool = False) -> str:
    """Remove the value at ``path``, which consists of member names and element indexes."""
    page = _open(text, comments=comments)
    opening = page.skip(0)
    for name in path[:-1]:
        opening = _named(page.parts(opening), name).value
    parts = list(page.parts(opening))
    part = _named(parts, path[-1])
    number = parts.index(part)
    if number + 1 < len(parts):
        comma = page.bare.index(",", part.end)
        rest = text[comma + 1 :].lstrip(" \t\r\n")
        return text[: part.start] + text[part.end : comma] + rest
    rest = text[part.end :]
    before = _stripped(page, part.start, rest)
    if number:
        comma = page.bare.index(",", parts[number - 1].end)
        between = before[comma + 1 :]  # a comment, or nothing
        before = before[:comma] + between if between else _stripped(page, comma, rest)
    return before + rest


def _stripped(page: _Source, end: int, rest: str) -> str:
    """Return the text before ``end`` without its blanks, unless a comment needs the newline."""
    before = page.text[:end].rstrip(" \t\r\n")
    is_in_line_comment = any(
        found[0].startswith("//") and found.start() < len(before) <= found.end()
        for found in _STRING_OR_COMMENT.finditer(page.text)
    )
    has_newline = rest.lstrip(" \t\r").startswith("\n")
    return page.text[:end] if is_in_line_comment and not has_newline else before


@dataclass(frozen=True, slots=True)
class _Part:
    """The position of a member of an object or of an element of a list."""

    name: str | int
    start: int
    value: int  #: where its value begins; equal to ``start`` in a list
    end: int


@dataclass(frozen=True, slots=True)
class _Source:
    text: str
    bare: str  #: the same text with each comment replaced by blanks

    def skip(self, at: int) -> int:
        blanks = _BLANKS.match(self.bare, at)
        return blanks.end() if blanks else at

    def value_end(self, at: int) -> int:
        return _DECODER.raw_decode(self.bare, at)[1]

    def parts(self, opening: int) -> Iterator[_Part]:
        """Yield the parts of the object or list that begins at ``opening``."""
        at, number = self.skip(opening + 1), 0
        while self.bare[at] not in "}]":
            start, name = at, number
            if self.bare[opening] == "{":
                name, at = _DECODER.raw_decode(self.bare, at)
                at = self.skip(self.skip(at) + 1)
            yield (part := _Part(name, start, at, self.value_end(at)))
            at, number = self.skip(part.end), number + 1
            if self.bare[at] == ",":
                at = self.skip(at + 1)

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def indentation(self, at: int) -> str:
        """Return the indentation of the line that contains ``at``."""
        blanks = _BLANKS.match(self.text, self.text.rfind("\n", 0, at) + 1)
        return blanks[0].rpartition("\n")[2] if blanks else ""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _open(text: str, *, comments: bool) -> _Source:
    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0])

    return _Source(text, _STRING_OR_COMMENT.sub(blank, text) if comments else text)


def _read(bare: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return _DECODER.decode(bare)
    except json.JSONDecodeError as error:
        raise ConfigBroken(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigBroken(f"line 1: {error}") from error


def _named(parts: Iterator[_Part] | Sequence[_Part], name: str | int) -> _Part:
    """Return the last part of that name, which is the one that JSON parsers use."""
    return [part for part in parts if part.name == name][-1]


def _descend(page: _Source, path: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return where the innermost existing container begins, and the missing names."""
    opening = page.skip(0)
    for depth in range(len(path) + 1):
        kind = "[" if depth == len(path) else "{"
        if page.bare[opening] != kind:
            location = ".".join(path[:depth]) or "the whole file"
            expected = "a list" if kind == "[" else "an object"
            raise ConfigBroken(f"line {page.line(opening)}: {location} should be {expected}")
        if depth == len(path):
            break
        found = [part for part in page.parts(opening) if part.name == path[depth]]
        if not found:
            return opening, path[depth:]
        opening = found[-1].value
    return opening, ()


def _addition(page: _Source, opening: int, name: str | None, value: object) -> tuple[int, str]:
    """Return a position and a text that append ``value`` to the container at ``opening``."""
    parts = list(page.parts(opening))
    closing = page.value_end(opening) - 1
    newline = "\r\n" if "\r\n" in page.text else "\n"
    unit = _indent_unit(page)
    outer = page.indentation(opening)
    inner = page.indentation(parts[0].start) if parts else outer + unit
    is_spread = _is_spread(page, opening, parts)
    text = _formatted(page, value, name, unit if is_spread else None)
    text = text.replace("\n", newline + inner)
    at = parts[-1].end if parts else opening + 1
    if (remark := _last_comment_end(page, at, closing)) > at:
        # A comment after the last part belongs to it and stays where it is.
        return remark, newline + inner + ("," if parts else "") + text
    if not is_spread:
        return at, ("," + _gap(page) if parts else "") + text
    if parts:
        return at, "," + newline + inner + text
    end = "" if "\n" in page.text[at:closing] else newline + outer
    return at, newline + inner + text + end


def _is_spread(page: _Source, opening: int, parts: Sequence[_Part]) -> bool:
    """Return whether each part begins on its own line."""
    if parts:
        return "\n" in page.text[opening : parts[0].start]
    return opening == page.skip(0) or "\n" in page.text.strip()


def _indent_unit(page: _Source) -> str:
    """Return the indentation of one level."""
    opening = page.skip(0)
    parts = list(page.parts(opening))
    if not parts or not _is_spread(page, opening, parts):
        return _DEFAULT_INDENT
    outer, inner = page.indentation(opening), page.indentation(parts[0].start)
    return inner.removeprefix(outer) if inner.startswith(outer) else _DEFAULT_INDENT


def _formatted(page: _Source, value: object, name: str | None, unit: str | None) -> str:
    gap = " " if unit is not None else _gap(page)
    separators = ("," if unit is not None else "," + gap, ":" + gap)
    text = json.dumps(value, indent=unit, separators=separators, ensure_ascii=False)
    return text if name is None else json.dumps(name, ensure_ascii=False) + separators[1] + text


def _gap(page: _Source) -> str:
    """Return the separator after a comma or a colon on the same line."""
    return "" if re.search(r'":[^ ]', page.text) else " "


def _last_comment_end(page: _Source, start: int, end: int) -> int:
    """Return the end of the last comment between two positions, or ``start``."""
    changed = [at for at in range(start, end) if page.text[at] != page.bare[at]]
    return changed[-1] + 1 if changed else start
