"""Word the blocks of a session's output as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from rookery.client.blocks import BlockInfo
from rookery.model.money import in_dollars
from rookery.presentation.cells import TAB_CELLS, cut, wrapped
from rookery.presentation.diffs import DiffLineKind, kind_of_line
from rookery.presentation.texts import count, one_line, without_escapes
from rookery.presentation.tool_lines import tool_line

#: Lines of a prompt, a thought, a result and a diff that are shown, unless all are wanted.
MAX_PROMPT_LINES, MAX_THOUGHT_LINES, MAX_RESULT_LINES, MAX_DIFF_LINES = 10, 4, 6, 20

#: The marks of the steps of a plan, by the words that agents use for their states.
_MARKS = {"completed": "✓", "in_progress": "▸", "inProgress": "▸"}
_OPEN = "○"


class LineStyle(Enum):
    PLAIN = auto()
    BOLD = auto()
    GREY = auto()
    FAILURE = auto()
    ADDED = auto()
    REMOVED = auto()
    HUNK = auto()


class Line(NamedTuple):
    text: str
    style: LineStyle = LineStyle.PLAIN


_DIFF_STYLES = {
    DiffLineKind.ADDED: LineStyle.ADDED,
    DiffLineKind.REMOVED: LineStyle.REMOVED,
    DiffLineKind.HUNK: LineStyle.HUNK,
    DiffLineKind.HEADER: LineStyle.BOLD,
}


def lines_of(block: BlockInfo, width: int, *, is_full: bool = False) -> list[Line]:
    """Return a block as lines of at most ``width`` cells; none if there is nothing to show.

    Unless ``is_full``, long blocks other than texts are shortened.
    """
    return _BY_KIND.get(block.kind, _text)(block, _Room(width, is_full))


class _Room(NamedTuple):
    """How much of a block can be shown."""

    width: int
    is_full: bool


def _prompt(block: BlockInfo, room: _Room) -> list[Line]:
    lines = _styled(_hanging("❯ ", block.text, room.width), LineStyle.BOLD)
    return _first(lines, MAX_PROMPT_LINES, room)


def _thought(block: BlockInfo, room: _Room) -> list[Line]:
    lines = _styled(_hanging("· ", block.text, room.width), LineStyle.GREY)
    return _first(lines, MAX_THOUGHT_LINES, room)


def _text(block: BlockInfo, room: _Room) -> list[Line]:
    mark, style = ("✗ ", LineStyle.FAILURE) if block.failed else ("", LineStyle.PLAIN)
    return _styled(_hanging(mark, block.text, room.width), style)


def _call(block: BlockInfo, room: _Room) -> list[Line]:
    argument = without_escapes(block.text)
    line = tool_line(without_escapes(block.tool), argument, is_full=room.is_full)
    if room.is_full:
        return _styled(_hanging("", line, room.width), LineStyle.PLAIN)
    return [Line(cut(line, room.width))]


def _result(block: BlockInfo, room: _Room) -> list[Line]:
    """Return a result, indented below its call; an empty one has a line of its own, too."""
    text = _left_on_screen(block.text) or ("failed" if block.failed else "(done)")
    mark, style = (" ✗ ", LineStyle.FAILURE) if block.failed else ("   ", LineStyle.GREY)
    if room.is_full:
        return _styled(_hanging(mark, text, room.width), style)
    lines = text.expandtabs(TAB_CELLS).split("\n")
    shown = (
        cut(f"{'   ' if number else mark}{line}", room.width)
        for number, line in enumerate(lines)
    )
    return _first(_styled(shown, style), MAX_RESULT_LINES, room)


def _left_on_screen(text: str) -> str:
    """Return what a program's output leaves on a terminal: without overwritten progress."""
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "\n".join(without_escapes(line).rstrip() for line in lines).strip("\n")


def _diff(block: BlockInfo, room: _Room) -> list[Line]:
    path = one_line(without_escapes(str(block.data.get("path") or "")))
    title = [Line(cut(f"± {path}", room.width), LineStyle.BOLD)] if path else []
    lines = without_escapes(block.text).expandtabs(TAB_CELLS).strip("\n").split("\n")
    shown = [
        Line(part, _DIFF_STYLES.get(kind_of_line(line), LineStyle.PLAIN))
        for line in lines
        for part in (wrapped(line, room.width) if room.is_full else (cut(line, room.width),))
    ]
    return title + _first(shown, MAX_DIFF_LINES, room) if block.text else title


def _plan(block: BlockInfo, room: _Room) -> list[Line]:
    lines = [Line("Plan", LineStyle.BOLD)]
    steps = block.data.get("steps")
    for step in steps if isinstance(steps, list) else ():
        match step:
            case [str(text), str(state)]:
                mark = f"  {_MARKS.get(state, _OPEN)} "
                lines += _styled(_hanging(mark, text, room.width), LineStyle.PLAIN)
            case _:
                pass
    return lines


def _usage(block: BlockInfo, room: _Room) -> list[Line]:
    """Return the tokens and, if it is known, the cost."""
    taken, given, cost = (
        value if isinstance(value := block.data.get(name), int) else None
        for name in ("input_tokens", "output_tokens", "cost")
    )
    dollars = "" if cost is None else f" · ${in_dollars(cost):.4f}"
    tokens = f"{taken or 0:,} tokens in, {given or 0:,} out"
    return [Line(cut(f"{tokens}{dollars}", room.width), LineStyle.GREY)]


_BY_KIND: Mapping[str, Callable[[BlockInfo, _Room], list[Line]]] = {
    "prompt": _prompt,
    "thought": _thought,
    "tool-call": _call,
    "tool-result": _result,
    "diff": _diff,
    "plan": _plan,
    "usage": _usage,
}


def _hanging(mark: str, text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text: the first after a mark, the others indented by its width."""
    room = max(width - len(mark), 1)
    for number, line in enumerate(wrapped(without_escapes(text).strip("\n"), room)):
        yield f"{' ' * len(mark) if number else mark}{line}".rstrip()


def _styled(lines: Iterable[str], style: LineStyle) -> list[Line]:
    return [Line(line, style) for line in lines]


def _first(lines: Sequence[Line], limit: int, room: _Room) -> list[Line]:
    """Return the first lines, and a note on how many more there are."""
    left = len(lines) - limit
    # One further line takes no more room than a note about it.
    if room.is_full or left <= 1:
        return [*lines]
    note = cut(f"   … {count(left, 'more line')}", room.width)
    return [*lines[:limit], Line(note, LineStyle.GREY)]
