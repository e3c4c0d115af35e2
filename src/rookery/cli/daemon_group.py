"""The commands of the daemon itself, in one group."""

from __future__ import annotations

import click

from rookery.cli.daemon import down, up
from rookery.cli.daemon_log import print_log
from rookery.cli.daemon_status import status
from rookery.cli.options import examples
from rookery.cli.service import service


@click.group(epilog=examples("rookery daemon logs -f", "rookery daemon status"))
def daemon() -> None:
    """Run, stop and show the daemon, and print its log."""


@daemon.command(epilog=examples("rookery daemon logs -f", "rookery daemon logs -n 500"))
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Last lines to print.",
)
@click.option("--follow", "-f", is_flag=True, help="Follow the log.")
def logs(*, lines: int, follow: bool) -> None:
    """Print the daemon's log."""
    print_log(lines, follow=follow)


for _command in (up, down, status, service):
    daemon.add_command(_command)
