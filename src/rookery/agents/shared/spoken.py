"""What an agent said last, read off its screen: for those of which nothing else tells it.

It is what was drawn: wrapped where the pane ends, and without its markup. So it comes last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from re import Pattern


@dataclass(frozen=True, slots=True)
class _Manner:
    """How an agent draws a conversation: each part begins at the edge and goes on indented."""

    mark: str  #: begins what it says
    prompt: Pattern[str]  #: begins what was sent to it; the last of these is where one types
    below: Pattern[str]  #: no part, but what stands between the last one and the box
    tool: Pattern[str]  #: a part that is a tool, or ends with one
    interruption: Pattern[str]  #: a part that says that the turn was stopped or refused


_MANNERS: Mapping[str, _Manner] = {
    "codex": _Manner(
        mark="• ",
        prompt=re.compile(r"›"),
        below=re.compile(r"  └ Tip: |[ ─] ?Worked for [<\d][^•]* • [\d:]+"),
        tool=re.compile(
            r"• (?:[A-Z][a-z]+ .*\n  [└│] |(?:Edited|Added|Deleted) .*\(\+\d+ -\d+\)"
            r"|Context compacted)"
        ),
        interruption=re.compile(r"■ Conversation interrupted\b"),
    ),
    "gemini": _Manner(
        mark="✦ ",
        prompt=re.compile(r" [>*!] "),
        below=re.compile(r" {20,}\? for shortcuts|[─▄▀]{20,}"),
        tool=re.compile(r"✦ (?s:.)*?\n  [✓✕⊷]  \S"),
        interruption=re.compile(r"ℹ +Request cancelled\.$"),
    ),
}


def read_off(agent: str, lines: Sequence[str]) -> str:
    """Return what was said last, if nothing came after it: no tool, no refusal.

    Only of a screen that is at rest. Empty where nobody can tell.
    """
    if (manner := _MANNERS.get(agent)) is None:
        return ""
    first, *rest = _last_part(manner, lines) or [""]
    if not first.startswith(manner.mark):
        return ""
    more = list(takewhile(lambda row: not manner.below.match(row), rest))
    if manner.tool.match("\n".join([first, *more])):
        return ""
    return "\n".join([first.removeprefix(manner.mark), *(row[2:] for row in more)]).strip()


def shows_interruption(agent: str, lines: Sequence[str]) -> bool:
    """Return whether the last turn was stopped or refused, by a screen that is at rest."""
    if (manner := _MANNERS.get(agent)) is None:
        return False
    first, *_ = _last_part(manner, lines) or [""]
    return bool(manner.interruption.match(first))


def read_prompt_off(agent: str, lines: Sequence[str]) -> str:
    """Return what the agent was asked last, of a screen that is at rest; empty if not shown."""
    if (manner := _MANNERS.get(agent)) is None:
        return ""
    rows = [line.rstrip() for line in _above_the_box(manner, lines)]
    asked = (at for at in range(len(rows) - 1, -1, -1) if manner.prompt.match(rows[at]))
    begin = next(asked, None)
    if begin is None:
        return ""
    first, *rest = rows[begin:]
    more = takewhile(lambda row: row.startswith("  ") and bool(row.strip()), rest)
    said = [manner.prompt.sub("", first, count=1), *more]
    return "\n".join(row.strip() for row in said)


def _last_part(manner: _Manner, lines: Sequence[str]) -> list[str]:
    """Return the rows from the beginning of the last part down to the box."""
    rows = [line.rstrip() for line in _above_the_box(manner, lines)]
    parts = (at for at in range(len(rows) - 1, -1, -1) if _begins_part(manner, rows[at]))
    begin = next(parts, None)
    return [] if begin is None else rows[begin:]


def _begins_part(manner: _Manner, row: str) -> bool:
    is_at_edge = bool(row[:1].strip()) or bool(manner.prompt.match(row))
    return is_at_edge and not manner.below.match(row)


def _above_the_box(manner: _Manner, lines: Sequence[str]) -> Sequence[str]:
    rows = [at for at, line in enumerate(lines) if manner.prompt.match(line)]
    return lines[: rows[-1]] if rows else ()
