"""The terminals of people that are attached to tmux, and the status line that they show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rookery.model.errors import RuntimeFailed
from rookery.runtimes.tmux.formats import literal
from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import AnyServer

#: The option of Rookery's server that its status line shows.
STATUS_OPTION = "@rookery-line"


async def attached_terminals(servers: Iterable[AnyServer]) -> list[Path]:
    """Return the terminals of the clients of these servers; a silent server has none."""
    found: list[Path] = []
    asked = line("list-clients", "-F", "#{client_control_mode} #{client_tty}")
    for server in servers:
        try:
            (clients,) = await server.ask(asked)
        except RuntimeFailed:
            continue
        rows = (each.decode(errors="replace").partition(" ") for each in clients)
        found += [Path(tty) for control, _, tty in rows if control == "0" and tty]
    return found


async def show_in_status(server: AnyServer, text: str) -> None:
    """Show a text in the status line of Rookery's own server."""
    await server.ask(line("set-option", "-g", STATUS_OPTION, literal(text)))
