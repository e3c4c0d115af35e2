"""Lines of text with named styles; widgets turn the names into colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from rookery.presentation.cells import cells, cut, wrapped


class Span(NamedTuple):
    """A part of a line, and the name of its style."""

    text: str
    style: str = ""


StyledLine: TypeAlias = tuple[Span, ...]


def line(text: str, style: str = "") -> StyledLine:
    return (Span(text, style),)


def width_of(spans: StyledLine) -> int:
    return sum(cells(each.text) for each in spans)


def fitting(spans: StyledLine, width: int) -> StyledLine:
    """Return a line in at most ``width`` cells, with an ellipsis for text that is cut off."""
    if cells("".join(each.text for each in spans).rstrip()) <= width:
        return spans
    shown, room = list[Span](), width
    for each in spans:
        if cells(each.text) >= room:  # a text that just fits leaves no cell for the ellipsis
            shown.append(Span(cut(f"{each.text} ", room), each.style))
            break
        shown.append(each)
        room -= cells(each.text)
    return tuple(shown)


def paragraph(
    text: str, width: int, style: str = "", *, first: str = "", rest: str = ""
) -> Iterator[StyledLine]:
    """Yield a text in lines of a width, each after a margin.

    ``first`` is the margin of the first line, ``rest`` that of all others.
    """
    room = width - max(cells(first), cells(rest))
    for place, each in enumerate(wrapped(text, room)):
        yield line((rest if place else first) + each, style)


def text_of(lines: list[StyledLine]) -> str:
    """Return lines without their styles."""
    return "\n".join("".join(span.text for span in each).rstrip() for each in lines)
