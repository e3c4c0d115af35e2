"""The commands that look at a session's terminal and type into it."""

from __future__ import annotations

from functools import partial

import click

from rookery.cli.completion import key_names, of_any_session, of_session
from rookery.cli.options import as_json, examples, pass_client
from rookery.cli.render import reply, say_verbatim
from rookery.client import Client
from rookery.client.sessions import interrupt_session, press_keys, show_screen


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
