"""The commands for the user's own tmux: see its panes, and find the agents in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import click

from rookery.cli.render import (
    cells,
    count,
    cut_left,
    is_colourful,
    line_of,
    plain,
    say,
    say_line,
    short,
    show_json,
    width_here,
)
from rookery.cli.root import as_json, client, rookery

_TITLES = ("PANE", "WINDOW", "SESSION", "COMMAND", "FOLDER")

#: Where a terminal is narrow these are left out, the first one first.
_SPARED = ("FOLDER", "COMMAND")

#: Cells with which a folder still says something.
_LEAST = 14


@rookery.command()
@as_json
def panes(*, as_json: bool) -> None:
    """List the panes of your tmux servers and of Rookery's, and which sessions are in them."""
    found = client().get("panes")
    if as_json:
        show_json(found)
    elif found["panes"]:
        _show(found["panes"])
    else:
        say('No panes. Start an agent:  rookery start --agent demo "say: Hello"')
        say("Or start one yourself, in a tmux of your own; it is found within seconds.")


def _show(listed: Sequence[Mapping[str, Any]]) -> None:
    """Show a table as wide as the terminal; each server's panes below its socket."""
    rows = [_row(each) for each in listed]
    titles, width = dict(zip(_TITLES, _TITLES, strict=True)), width_here()
    widths = _widths([titles, *rows], width)
    click.secho(line_of(titles, widths), bold=is_colourful())
    pairs = zip((each["server"] for each in listed), rows, strict=True)
    for server, of_server in groupby(pairs, key=itemgetter(0)):
        say_line(cut_left(short(server), width))
        for _, row in of_server:
            folder = cut_left(row["FOLDER"], widths.get("FOLDER", 0))
            click.echo(line_of({**row, "FOLDER": folder}, widths))


def _row(pane: Mapping[str, Any]) -> Mapping[str, str]:
    window = f"{pane['tmux_session']}:{pane['window']}.{pane['index']} {pane['window_name']}"
    row = {
        "PANE": pane["pane"],
        "WINDOW": plain(window),
        "SESSION": pane["session"] or "–",
        "COMMAND": plain(pane["command"]),
        "FOLDER": short(pane["cwd"]),
    }
    return {title: " ".join(cell.split()) for title, cell in row.items()}


def _widths(rows: Sequence[Mapping[str, str]], width: int) -> Mapping[str, int]:
    """Give each column what it needs; where that is too much, some are left out or cut."""
    needs = {title: max(cells(row[title]) for row in rows) for title in _TITLES}
    needs["WINDOW"] = min(needs["WINDOW"], max(width // 3, _LEAST))
    least = {**needs, "FOLDER": min(needs["FOLDER"], _LEAST)}
    for spared in _SPARED:
        if _sum(least) <= width:
            break
        del least[spared], needs[spared]
    last = "FOLDER" if "FOLDER" in needs else "WINDOW"
    left = width - _sum({**needs, last: 0})
    return {**needs, last: max(min(needs[last], left), 0)}


def _sum(needs: Mapping[str, int]) -> int:
    return sum(needs.values()) + 2 * (len(needs) - 1)


@rookery.command()
@as_json
def discover(*, as_json: bool) -> None:
    """Look for agents in your tmux servers now; otherwise that is done every few seconds."""
    found = client().post("discover")
    if as_json:
        show_json(found)
        return
    say(f"{count(len(found['sessions']), 'agent')} in panes that Rookery did not start.")
    for name in found["new"]:
        say(f"New: {name}")
