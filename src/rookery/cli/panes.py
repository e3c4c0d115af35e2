"""The commands for the user's own tmux: see its panes, and find the agents in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from rookery.cli.group import as_json, client, rookery
from rookery.cli.show import count, plain, say, show_json


@rookery.command()
@as_json
def panes(*, as_json: bool) -> None:
    """List the panes of your tmux servers and of Rookery's, and which sessions are in them."""
    found = client().get("panes")
    if as_json:
        show_json(found)
        return
    server = None
    for pane in found["panes"]:
        if pane["server"] != server:
            server = pane["server"]
            say(server)
        say(_line(pane))
    if not found["panes"]:
        say("No tmux server runs.")


def _line(pane: Mapping[str, Any]) -> str:
    window = f"{pane['tmux_session']}:{pane['window']}.{pane['index']}"
    where = f"{window} {pane['window_name']}"
    runs = f"{pane['command']} in {_shown(pane['cwd'])}"
    return f"  {pane['pane']:5} {plain(where):30}  {plain(runs)}  {pane['session']}".rstrip()


def _shown(path: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - a prefix of text, not a path
    return "~" + path.removeprefix(home) if PurePath(path).is_relative_to(home) else path


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
