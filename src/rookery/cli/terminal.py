"""The commands that look at a session's terminal and type into it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import click

from rookery.cli.completion import key_names, of_any_session, of_session
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, say_verbatim
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.client.sessions import (
    interrupt_session,
    press_keys,
    show_screen,
    show_session,
)
from rookery.model.errors import BadInput, RuntimeFailed


@click.command(epilog=examples("rookery screen api", "rookery screen api --history"))
@click.option("--history", is_flag=True, help="Also the scrollback.")
@as_json
@of_any_session
@pass_client
def screen(daemon: Client, *, name: str, history: bool, as_json: bool) -> None:
    """Print a session's screen; of an ended session, its last screen."""
    screen = show_screen(daemon, name, history=history)
    text = "\n".join(line.rstrip() for line in screen.lines).rstrip("\n")
    reply(screen, partial(say_verbatim, text), as_json=as_json)


@click.command(epilog=examples("rookery attach api"))
@of_session
@pass_client
def attach(daemon: Client, name: str) -> None:
    """Watch a session in this terminal and type into it; detach with C-b d.

    Within your own tmux, detach with C-b C-b d.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("attach needs a terminal; use `rookery output`.")
    session = show_session(daemon, name)
    if session.tmux_session is None or session.ended_at:
        raise BadInput(f"{session.name} is in no pane now. See:  rookery output {name}")
    socket = session.tmux_server or show_status(daemon).tmux_socket
    os.environ.pop("TMUX", None)  # so that attaching works within the user's own tmux, too
    target = _current_window(socket, session.tmux_pane) or session.tmux_session
    try:
        # -N: without a server on the socket, tmux would start an empty one there.
        words = ["tmux", "-N", "-u", "-S", socket, "attach-session", "-t", f"={target}"]
        os.execvp("tmux", words)  # noqa: S606
    except OSError as error:
        raise BadInput(f"tmux cannot be run here: {error.strerror}.") from error


def _current_window(socket: str, pane: str | None) -> str:
    """Return the window that shows a pane now: it may have been renamed or moved."""
    shown = "#{pane_id} #{session_name}:#{window_index}"
    words = ["tmux", "-u", "-S", socket, "list-panes", "-a", "-F", shown]
    try:
        listed = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f"tmux cannot be run here: {error.strerror}.") from error
    if listed.returncode:
        again = "Rookery restores its own socket in a few seconds; then try again."
        raise RuntimeFailed(f"{listed.stderr.strip()}. {again}")
    rows = (each.partition(" ") for each in listed.stdout.splitlines())
    windows = [window for found, _, window in rows if found == pane]
    # The daemon's own tmux session shows the windows of all agents, too.
    return next((each for each in windows if not each.startswith("rookery:")), "")


@click.command(epilog=examples("rookery interrupt api"))
@as_json
@of_session
@pass_client
def interrupt(daemon: Client, *, name: str, as_json: bool) -> None:
    """Stop a session's current turn, like its interrupt key."""
    session = interrupt_session(daemon, name)
    reply(session, f"Interrupted {session.name}.", as_json=as_json)


@click.command(epilog=examples("rookery keys api down enter", "rookery keys api ctrl-u"))
@as_json
@of_session
@click.argument("keys", nargs=-1, required=True, shell_complete=key_names)
@pass_client
def keys(daemon: Client, *, name: str, keys: tuple[str, ...], as_json: bool) -> None:
    """Press KEYS in a session: 1, y, up, enter, escape, shift-tab, ctrl-c …"""
    session = press_keys(daemon, name, keys)
    reply(session, f"Pressed {' '.join(keys)} in {session.name}.", as_json=as_json)
