"""Start the daemon with the first command that needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rookery.cli.detached_daemon import start_in_background
from rookery.cli.render import remark
from rookery.config import load
from rookery.home import Home

#: Seconds after which a person at a terminal is told what the command waits for.
TELL_AFTER_S = 1.0


def start_daemon(here: Home) -> None:
    """Start the daemon if ``autostart`` is set. Prints why and exits if it does not come up."""
    if not load(here.settings).autostart:
        return  # the command reports that no daemon runs
    with _told_if_slow():
        started = start_in_background(here)
    if started.other is None:
        remark("Started the daemon. To stop it:  rookery down")


@contextmanager
def _told_if_slow() -> Iterator[None]:
    """Print what the command waits for if the body takes long; only in a terminal."""
    timer = Timer(TELL_AFTER_S, remark, ["Starting the daemon …"])
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
