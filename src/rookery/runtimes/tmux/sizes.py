"""Restore the default size of windows once the last terminal that showed them has detached.

A window keeps the size of the last terminal. In a tiny one neither input boxes nor dialogs can
be read, so messages and answers would wait for ever.
"""

from __future__ import annotations

from rookery.runtimes.tmux.protocol import line
from rookery.runtimes.tmux.server import Server
from rookery.runtimes.tmux.server_options import SIZE

_WINDOW = "#{window_id} #{window_width}x#{window_height} #{session_id}"
_CLIENT = "#{client_control_mode} #{session_id}"


async def restore(server: Server) -> None:
    """Resize the windows that no terminal shows and that do not have the default size."""
    windows, clients = await server.ask(
        line("list-windows", "-a", "-F", _WINDOW), line("list-clients", "-F", _CLIENT)
    )
    shown = {each.decode().split(" ")[1] for each in clients if each.startswith(b"0 ")}
    rows = [each.decode().split(" ") for each in windows]
    in_use = {window for window, _, session in rows if session in shown}
    width, height = SIZE.split("x")
    for window in {window for window, size, _ in rows if size != SIZE} - in_use:
        await server.ask(
            line("resize-window", "-t", window, "-x", width, "-y", height),
            # resize-window fixes the size, and the next terminal must be able to change it.
            line("set-option", "-w", "-u", "-t", window, "window-size"),
        )
