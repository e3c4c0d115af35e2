"""Print the daemon's log."""

from __future__ import annotations

from rookery.cli.daemon_waits import pause
from rookery.cli.options import home
from rookery.cli.render import say_verbatim
from rookery.model.errors import BadInput

#: Seconds between two reads of a log that is followed.
LOOK_INTERVAL_S = 0.2


def print_log(lines: int, *, follow: bool) -> None:
    """Print the last lines of the log, and new ones if it is followed."""
    log = home().log
    if not log.exists():
        raise BadInput(f"there is no log yet: {log}")
    with log.open(encoding="utf-8", errors="replace") as file:
        say_verbatim("".join(file.readlines()[-lines:]).rstrip("\n"))
        while follow:
            for line in file:
                say_verbatim(line.rstrip("\n"))
            pause(LOOK_INTERVAL_S)
