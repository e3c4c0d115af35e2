"""The option of ``rookery status`` that prints one short line for a status bar or a prompt."""

from __future__ import annotations

import sys

import click

from rookery.cli.exit_codes import NOT_RUNNING
from rookery.cli.options import examples
from rookery.cli.render import say, show_json
from rookery.client import Client
from rookery.client.notifications import count_sessions
from rookery.model.errors import NotRunning, TimedOut

STATUS_EXAMPLES = examples(
    "rookery status",
    "rookery status --line",
    "tmux set -g status-right '#(rookery status --line)'",
)

line_option = click.option(
    "--line",
    is_flag=True,
    help='Print only how many sessions wait or failed ("2 wait · 1 failed"), for a status bar.',
)


def print_line(daemon: Client, *, as_json: bool) -> None:
    """Print the numbers for a status bar; without a daemon nothing, not even an error."""
    try:
        found = count_sessions(daemon)
    except (NotRunning, TimedOut):
        sys.exit(NOT_RUNNING)
    if as_json:
        show_json(found)
    elif found.line:
        say(found.line)
