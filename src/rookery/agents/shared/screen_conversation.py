"""Read the last answer of an agent from its screen, where no other source reports it.

The screen shows it as drawn: wrapped at the pane's width and without markup. So this is the
last resort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from re import Pattern


@dataclass(frozen=True, slots=True)
class Speech:
    """How an agent draws a conversation: a part begins in column 0 and continues indented.

    All methods expect a screen that no longer changes.
    """

    mark: str  #: begins an answer of the agent
    prompt: Pattern[str]  #: begins a prompt; the last match is the input box
    below: Pattern[str]  #: lines between the last part and the box that belong to no part
    tool: Pattern[str]  #: a part that is a tool call or ends with one
    interruption: Pattern[str]  #: a part that reports a stopped or refused turn

    def last_answer(self, lines: Sequence[str]) -> str:
        first, *rest = self._last_part(lines) or [""]
        if not first.startswith(self.mark):
            return ""
        more = list(takewhile(lambda row: not self.below.match(row), rest))
        if self.tool.match("\n".join([first, *more])):
            return ""
        return "\n".join([first.removeprefix(self.mark), *(row[2:] for row in more)]).strip()

    def shows_interruption(self, lines: Sequence[str]) -> bool:
        first, *_ = self._last_part(lines) or [""]
        return bool(self.interruption.match(first))

    def last_prompt(self, lines: Sequence[str]) -> str:
        rows = [line.rstrip() for line in self._above_input_box(lines)]
        prompt_rows = (at for at in range(len(rows) - 1, -1, -1) if self.prompt.match(rows[at]))
        begin = next(prompt_rows, None)
        if begin is None:
            return ""
        first, *rest = rows[begin:]
        more = takewhile(lambda row: row.startswith("  ") and bool(row.strip()), rest)
        prompt_lines = [self.prompt.sub("", first, count=1), *more]
        return "\n".join(row.strip() for row in prompt_lines)

    def _last_part(self, lines: Sequence[str]) -> list[str]:
        """Return the rows from the start of the last part down to the box."""
        rows = [line.rstrip() for line in self._above_input_box(lines)]
        parts = (at for at in range(len(rows) - 1, -1, -1) if self._begins_part(rows[at]))
        begin = next(parts, None)
        return [] if begin is None else rows[begin:]

    def _begins_part(self, row: str) -> bool:
        is_at_edge = bool(row[:1].strip()) or bool(self.prompt.match(row))
        return is_at_edge and not self.below.match(row)

    def _above_input_box(self, lines: Sequence[str]) -> Sequence[str]:
        rows = [at for at, line in enumerate(lines) if self.prompt.match(line)]
        return lines[: rows[-1]] if rows else ()
