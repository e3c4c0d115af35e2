"""Find the fenced code blocks in an answer that is written in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: A line that opens a block: three or more backticks or tildes, and the name of a language.
_OPENING = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    """Lines of an answer that are all code, or all text."""

    is_code: bool
    lines: tuple[str, ...]


def code_blocks(text: str) -> list[str]:
    """Return the contents of all fenced blocks, in order; an open one reaches to the end."""
    return ["\n".join(part.lines) for part in markdown_parts(text) if part.is_code]


def markdown_parts(text: str) -> Iterator[MarkdownPart]:
    """Yield the code blocks and the text around them, without the fences."""
    lines: list[str] = []
    fence, indent = "", 0
    for line in text.splitlines():
        opening = None if fence else _OPENING.match(line)
        if fence and _closes(line, fence):
            yield MarkdownPart(is_code=True, lines=tuple(lines))
            lines, fence, indent = [], "", 0
        # A line such as ```x``` is inline code, not a fence.
        elif opening and "`" not in opening["info"]:
            yield MarkdownPart(is_code=False, lines=tuple(lines))
            lines, fence, indent = [], opening["fence"], len(opening["indent"])
        else:
            lines.append(line[min(indent, len(line) - len(line.lstrip())) :])
    yield MarkdownPart(is_code=bool(fence), lines=tuple(lines))


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}
