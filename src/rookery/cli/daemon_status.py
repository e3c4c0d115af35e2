"""Show whether the daemon runs, and where."""

from __future__ import annotations

import sys

import click

from rookery.cli.daemon_problems import say_http_note, warn_of_problems
from rookery.cli.exit_codes import FAILED
from rookery.cli.options import as_json, pass_client
from rookery.cli.render import complain, say, show_json
from rookery.cli.status_line import STATUS_EXAMPLES, line_option, print_line
from rookery.cli.versions import skew
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.presentation.deliveries import HELD
from rookery.presentation.texts import count


@click.command(epilog=STATUS_EXAMPLES)
@line_option
@as_json
@pass_client
def status(daemon: Client, *, line: bool, as_json: bool) -> None:
    """Show whether the daemon runs, and where.

    With --line it prints nothing if no session needs you, or if no daemon runs (exit code 3).
    """
    if line:
        print_line(daemon, as_json=as_json)
        return
    status = show_status(daemon)
    if as_json:
        show_json(status)
        return
    say(f"Rookery {status.version} is up, pid {status.pid}, on {status.computer}.")
    if other := skew(status.version):
        say(other)
    waiting = status.waiting or "none"
    say(f"{count(status.sessions, 'live session')}, {waiting} waiting for you.")
    if status.holding:
        say(HELD)
    warn_of_problems(status)
    say(f"Home {status.home}\nLog  {status.log}")
    say(f"HTTP {status.url}, with a token" if status.url else "HTTP is off")
    say_http_note(status)
    if status.trouble:
        complain(status.trouble)
        sys.exit(FAILED)
