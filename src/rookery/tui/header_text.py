"""The first and the last line of the screen, and what an empty list says."""

from __future__ import annotations

from collections.abc import Sequence

from rookery.client.permissions import RequestInfo
from rookery.client.sessions import ListedSession
from rookery.presentation.cells import cells, cut
from rookery.presentation.states import Standing
from rookery.tui.board import Board, BoardView, Grouping
from rookery.tui.keys import hints_within
from rookery.tui.request_text import answer_keys
from rookery.tui.styled import Span, StyledLine, width_of

#: How the counts of the header are worded, and their styles.
_COUNTED = (
    (Standing.NEEDS_YOU, "need you", "needs-you"),
    (Standing.FAILED, "failed", "failed"),
    (Standing.WORKING, "working", "working"),
    (Standing.STARTING, "starting", "faint"),
    (Standing.IDLE, "idle", "faint"),
    (Standing.CLOSING, "closing", "faint"),
)

#: Columns below which the header leaves out the name of the program and zero counts.
_NARROW = 60


def header(board: Board, width: int, *, down: str) -> StyledLine:
    """Return the first line: how many sessions are in which state, and what is listed."""
    if down:
        text = " The daemon is down, reconnecting …"
        return (Span(cut(text, width), "failed"),)
    spans = [Span(" Rookery  ", "strong")] if width >= _NARROW else [Span(" ")]
    counts = board.counts()
    for each, word, style in _COUNTED:
        if counts[each] or (each is Standing.NEEDS_YOU and width >= _NARROW):
            number = counts[each]
            verb = "needs you" if word == "need you" and number == 1 else word
            is_calm = each is Standing.NEEDS_YOU and not number
            spans.append(Span(f"{number} {verb}  ", "faint" if is_calm else style))
    while width_of(tuple(spans)) > width:
        spans.pop()
    right = _right(board)
    gap = width - width_of(tuple(spans)) - cells(right) - 1
    return (*spans, Span(" " * max(gap, 1)), Span(right, "faint"))


def _right(board: Board) -> str:
    parts = [
        "on hold" if board.is_holding else "",
        f"{len(board.marked)} marked" if board.marked else "",
        "" if board.grouping is Grouping.NONE else f"by {board.grouping}",
        "tree" if board.is_tree else "",
        f"/{board.query}" if board.query else "",
        "" if board.view is BoardView.LIVE else f"{board.view} only",
    ]
    return " · ".join(filter(None, parts)).replace("all only", "all")


def empty_hints(board: Board, *, down: str, is_loaded: bool) -> Sequence[str]:
    """Return what the list says if it has no rows."""
    if down:
        return (
            "The daemon is not running.",
            "Press u or enter to start it in the background:",
            "  rookery up --detach",
        )
    if not is_loaded:
        return ("Loading …",)
    if board.query:
        return (f"No session matches {board.query!r}.", "esc clears the search.")
    if board.view is not BoardView.LIVE:
        return (f"No {board.view} sessions.", "v shows others, esc all live ones.")
    return (
        "No sessions yet.",
        "Press n to start one, or type in another terminal:",
        '  rookery start demo "say: Hello"',
        "Press ? for all keys.",
    )


def first_keys(
    session: ListedSession | None, *, is_list: bool, is_detail: bool
) -> list[tuple[str, str]]:
    """Return the keys that open and close the selected session, with their labels.

    A session without a terminal cannot be attached to.
    """
    if is_list:
        return [("enter", "details")]
    attach = [] if session and session.is_driven else [("enter", "attach")]
    return [("esc", "back"), *attach] if is_detail else attach


def key_hints(
    request: RequestInfo | None,
    board: Board,
    *,
    is_down: bool,
    width: int,
    first: Sequence[tuple[str, str]],
) -> StyledLine:
    """Return the keys that are most useful now, as many as fit."""
    if is_down:
        pairs = [("u", "start the daemon"), ("q", "quit")]
    elif not board.sessions:
        pairs = [("n", "new"), ("?", "help"), ("q", "quit")]
    else:
        answers = answer_keys(request) if request else []
        pairs = [*answers, ("?", "help"), *first, ("s", "send"), ("n", "new"), ("/", "search")]
        pairs += [("q", "quit"), ("tab", "preview"), ("v", "view"), ("u", "next")]
    return hints_within(width, *pairs)
