"""Find the fenced code blocks in an answer that is written in Markdown."""

from __future__ import annotations

import re

#: A line that opens a block: three or more backticks or tildes, and the name of a language.
_OPENING = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")


def code_blocks(text: str) -> list[str]:
    """Return the contents of all fenced blocks, in order; an open one reaches to the end."""
    blocks: list[str] = []
    lines: list[str] | None = None
    fence, indent = "", 0
    for line in text.splitlines():
        if lines is None:
            opening = _OPENING.match(line)
            # A line such as ```x``` is inline code, not a fence.
            if opening and "`" not in opening["info"]:
                lines, fence, indent = [], opening["fence"], len(opening["indent"])
        elif _closes(line, fence):
            blocks.append("\n".join(lines))
            lines = None
        else:
            lines.append(line[min(indent, len(line) - len(line.lstrip())) :])
    return blocks if lines is None else [*blocks, "\n".join(lines)]


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}
