"""Start the daemon with the first command that needs it."""

from __future__ import annotations

from rookery.cli.detached_daemon import start_in_background
from rookery.cli.render import remark
from rookery.config import load
from rookery.home import Home


def start_daemon(here: Home) -> None:
    """Start the daemon if it is configured so. Prints why and exits if it does not come up."""
    if not load(here.settings).autostart:
        return  # the command reports that no daemon runs
    if start_in_background(here).other is None:
        remark("Started the daemon. To stop it:  rookery down")
