"""Print the output of a session block by block: what it says and does, as one stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import click

from rookery.cli.colour import is_colourful
from rookery.cli.daemon_waits import await_return, goes_on, patiently
from rookery.cli.render import remark, safe_json, say, show_json
from rookery.cli.seen import note_seen
from rookery.cli.tables import width_here
from rookery.client import Client, ConnectionLost
from rookery.client.blocks import (
    BlockInfo,
    BlocksInfo,
    await_blocks,
    mark_blocks_shown,
    show_blocks,
    show_missed_blocks,
)
from rookery.presentation.block_lines import Line, LineStyle, lines_of

#: The channel in which this command shows blocks.
CHANNEL = "terminal"

#: Seconds that one request waits for a block.
POLL_S = 60.0

#: Minimum cells of the number before each block.
MIN_NUMBER_CELLS = 3

#: The width of lines outside a terminal, so large that no line is broken.
UNBROKEN_CELLS = 1_000_000

_STYLES: Mapping[LineStyle, Callable[[str], str]] = {
    LineStyle.PLAIN: str,
    LineStyle.BOLD: partial(click.style, bold=True),
    LineStyle.GREY: partial(click.style, dim=True),
    LineStyle.FAILURE: partial(click.style, fg="red"),
    LineStyle.ADDED: partial(click.style, fg="green"),
    LineStyle.REMOVED: partial(click.style, fg="red"),
    LineStyle.HUNK: partial(click.style, fg="cyan"),
}


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """Which blocks are printed, and how."""

    after: int | None = None
    last: int | None = None
    missed: bool = False  #: only blocks that --missed has not printed before
    follow: bool = False
    is_full: bool = False  #: long blocks are not shortened
    as_json: bool = False


def print_blocks(daemon: Client, name: str, request: BlockRequest) -> None:
    """Print the requested blocks of a session and, with ``follow``, new ones as they come."""
    pages = _pages(daemon, name, request)
    if request.as_json and not request.follow:
        found = [*pages]
        blocks = [block.json for page in found for block in page.blocks]
        show_json({"blocks": blocks, "count": found[-1].count})
        if request.missed:
            mark_blocks_shown(daemon, name, channel=CHANNEL, seen=found[-1].up_to)
        return
    page, is_empty, shows_answers = BlocksInfo(), True, False
    for page in pages:
        is_empty = is_empty and not page.blocks
        show_page(page, is_full=request.is_full, as_json=request.as_json)
        if request.missed:
            mark_blocks_shown(daemon, page.session.id, channel=CHANNEL, seen=page.up_to)
        # The blocks of a turn's end, such as its usage, do not show its answer.
        shows_answers = shows_answers or any(block.kind == "text" for block in page.blocks)
        if shows_answers or page.session.status == "failed":
            _note_seen_until_end_of(daemon, page)
    if not request.as_json:
        _finish(page, is_empty=is_empty)


def _note_seen_until_end_of(daemon: Client, page: BlocksInfo) -> None:
    """Report that the output was shown up to the last block of a page."""
    ended_at = page.session.ended_at if page.up_to == page.count else None
    note_seen(daemon, page.session.id, (ended_at, *(block.at for block in page.blocks)))


def show_page(page: BlocksInfo, *, is_full: bool = False, as_json: bool = False) -> None:
    """Print some blocks of a session."""
    for block in page.blocks:
        if as_json:
            click.echo(safe_json(json.dumps(block.json, ensure_ascii=False)))
        else:
            _show(block, is_full=is_full)
    sys.stdout.flush()


def _pages(daemon: Client, name: str, request: BlockRequest) -> Iterator[BlocksInfo]:
    """Yield pages of blocks in the order of their numbers, without gaps or duplicates."""
    ask = (
        partial(show_missed_blocks, daemon, name, channel=CHANNEL, last=request.last)
        if request.missed
        else partial(show_blocks, daemon, name, after=request.after, last=request.last)
    )
    try:
        page = ask()
    except ConnectionLost:
        await_return(daemon, otherwise=goes_on(name))
        page = ask()
    yield page
    session = page.session.id
    while page.up_to < page.count:
        page = show_blocks(daemon, session, after=page.up_to)
        yield page
    # An answer is one snapshot: if it says that the session is over, its count is final.
    while request.follow and not (page.session.ended_at and page.up_to == page.count):
        page = patiently(
            daemon,
            partial(await_blocks, daemon, session, after=page.up_to),
            timeout=POLL_S,
            otherwise=goes_on(page.session.name),
        )
        yield page


def _show(block: BlockInfo, *, is_full: bool) -> None:
    """Print a block, preceded by its number."""
    number = f"{block.number:>{MIN_NUMBER_CELLS}}  "
    width = width_here() if sys.stdout.isatty() else UNBROKEN_CELLS
    gutter = " " * len(number)
    for place, line in enumerate(lines_of(block, width - len(number), is_full=is_full)):
        start = gutter if place else _styled(Line(number, LineStyle.GREY))
        click.echo(f"{start}{_styled(line)}".rstrip())


def _styled(line: Line) -> str:
    return _STYLES[line.style](line.text) if is_colourful() else line.text


def _finish(page: BlocksInfo, *, is_empty: bool) -> None:
    session = page.session
    if is_empty:
        news = "nothing new" if page.count else "no output yet"
        remark(f"{session.name} has {news}.")
    if session.status == "failed":
        say(f"{session.name} failed: {session.reason}")
