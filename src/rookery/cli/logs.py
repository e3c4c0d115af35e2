"""The command that shows the daemon's log."""

from __future__ import annotations

import click

from rookery.cli.daemon_waits import pause
from rookery.cli.options import examples, home
from rookery.cli.render import say_verbatim
from rookery.model.errors import BadInput


@click.command(epilog=examples("rookery logs", "rookery logs --lines 200 --follow"))
@click.option("--lines", "-n", type=click.IntRange(1), default=50, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="Follow the log.")
def logs(*, lines: int, follow: bool) -> None:
    """Show the daemon's log."""
    log = home().log
    if not log.exists():
        raise BadInput(f"there is no log yet: {log}")
    with log.open(encoding="utf-8", errors="replace") as file:
        say_verbatim("".join(file.readlines()[-lines:]).rstrip("\n"))
        while follow:
            for line in file:
                say_verbatim(line.rstrip("\n"))
            pause(0.2)
