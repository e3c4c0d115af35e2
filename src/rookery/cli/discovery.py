"""The commands that list tmux panes and find the agents in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

import click

from rookery.cli.colour import is_colourful
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, say, say_line, short
from rookery.cli.tables import MIN_CELLS, Layout, line_of, width_here
from rookery.client import Client
from rookery.client.discovery import DiscoveredInfo, PaneInfo, discover_agents, list_panes
from rookery.presentation.cells import cut, cut_left
from rookery.presentation.texts import count, plain

_LAYOUT = Layout(
    titles=("PANE", "WINDOW", "SESSION", "COMMAND", "FOLDER"),
    spared=("FOLDER", "COMMAND"),
    shrinking=("FOLDER",),
    last_resort="WINDOW",
)


@click.command(epilog=examples("rookery panes", "rookery panes --json"))
@as_json
@pass_client
def panes(daemon: Client, *, as_json: bool) -> None:
    """List the panes of your tmux servers and of Rookery's, and their sessions."""
    panes = list_panes(daemon)
    reply(panes, partial(_show, panes.panes), as_json=as_json)


def _show(listed: Sequence[PaneInfo]) -> None:
    """Print a table as wide as the terminal, with each server's panes below its socket."""
    if not listed:
        say('No panes. Start an agent:  rookery start demo "say: Hello"')
        say("Or start one in your own tmux; it is found within seconds.")
        return
    width = width_here()
    rows = [_row(each, width) for each in listed]
    widths = _LAYOUT.fit(rows, width)
    click.secho(line_of(_LAYOUT.head, widths), bold=is_colourful())
    pairs = zip((each.server for each in listed), rows, strict=True)
    for server, of_server in groupby(pairs, key=itemgetter(0)):
        say_line(cut_left(short(server), width))
        for _, row in of_server:
            folder = cut_left(row["FOLDER"], widths.get("FOLDER", 0))
            click.echo(line_of({**row, "FOLDER": folder}, widths))


def _row(pane: PaneInfo, width: int) -> Mapping[str, str]:
    window = f"{pane.tmux_session}:{pane.window}.{pane.index} {pane.window_name}"
    row = {
        "PANE": pane.pane,
        "WINDOW": plain(window),
        "SESSION": pane.session or "–",
        "COMMAND": plain(pane.command),
        "FOLDER": short(pane.cwd),
    }
    cells = {title: " ".join(cell.split()) for title, cell in row.items()}
    return {**cells, "WINDOW": cut(cells["WINDOW"], max(width // 3, MIN_CELLS))}


@click.command(epilog=examples("rookery discover"))
@as_json
@pass_client
def discover(daemon: Client, *, as_json: bool) -> None:
    """Search your tmux servers for agents now. The daemon also does that every few seconds."""
    discovered = discover_agents(daemon)
    reply(discovered, "\n".join(_lines(discovered)), as_json=as_json)


def _lines(discovered: DiscoveredInfo) -> Iterator[str]:
    yield f"{count(len(discovered.sessions), 'agent')} in panes that Rookery did not start."
    yield from (f"New: {name}" for name in discovered.new)
