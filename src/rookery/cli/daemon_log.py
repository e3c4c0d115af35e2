"""Print the daemon's log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

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
    with _opened(log) as file:
        say_verbatim("".join(file.readlines()[-lines:]).rstrip("\n"))
        if follow:
            _print_new_lines(file, log)
    while follow:
        with _opened(log) as file:
            _print_new_lines(file, log)


def _opened(log: Path) -> TextIO:
    return log.open(encoding="utf-8", errors="replace")


def _print_new_lines(file: TextIO, log: Path) -> None:
    """Print what is added to a file until the daemon writes its log to a new one."""
    is_replaced = False
    while not is_replaced:
        is_replaced = _is_replaced(file, log)  # before the lines: then they are all there are
        for line in file:
            say_verbatim(line.rstrip("\n"))
        pause(LOOK_INTERVAL_S)


def _is_replaced(file: TextIO, log: Path) -> bool:
    try:
        return not os.path.samestat(os.fstat(file.fileno()), log.stat())
    except FileNotFoundError:
        return False  # the daemon is about to create the new file
