"""Start the daemon in the background, and wait until it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from rookery.cli.daemon_process import find_daemon, is_alive
from rookery.cli.daemon_waits import pause
from rookery.cli.exit_codes import FAILED
from rookery.cli.render import complain
from rookery.client import Client
from rookery.client.daemon import StatusInfo, show_status
from rookery.home import Home
from rookery.model.errors import AlreadyRunning, Answered, NotRunning
from rookery.private_files import open_private

#: Seconds for a daemon to start or to stop.
START_STOP_TIMEOUT_S = 20.0

#: Advice on a daemon that holds the lock of its home and does not answer.
SILENT = "It does not answer: it is still starting, or it hangs. Stop it with:  rookery down"


@dataclass(frozen=True, slots=True)
class StartedDaemon:
    """A daemon that answers now."""

    pid: int
    other: StatusInfo | None = None  #: set if another command had started it


def start_in_background(here: Home) -> StartedDaemon:
    """Start a daemon, unless one holds the lock. Prints why and exits if none comes up."""
    here.prepare()
    errors = here.log.with_name("up.log")
    if pid := find_daemon(here):
        return _wait_for_other(here, pid, errors)
    with open_private(errors) as log:
        log.truncate()
        daemon = subprocess.Popen(
            [sys.executable, "-I", "-m", "rookery", "up"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",  # so a relative ROOKERY_HOME must be passed on as an absolute path
            env={**os.environ, **here.environment},
        )
    # Another daemon may answer first; the new process then ends, or takes over if the other
    # one stops.
    if not wait_until(lambda: _is_up(here, daemon.pid) or daemon.poll() is not None):
        waited = f"{START_STOP_TIMEOUT_S:g} s"
        complain(f"it did not come up within {waited}. {_last_line(errors)}See {errors}")
        sys.exit(FAILED)
    if daemon.poll() is not None:
        if other := find_daemon(here):
            return _wait_for_other(here, other, errors)
        why = errors.read_text(errors="replace").strip()
        click.echo(
            why or f"rookery: it ended without a message in {errors}; the disk may be full.",
            err=True,
        )
        sys.exit(FAILED)
    return StartedDaemon(daemon.pid)


def _is_up(here: Home, pid: int) -> bool:
    found = status_of(here)
    return found is not None and found.pid == pid


def _wait_for_other(here: Home, pid: int, errors: Path) -> StartedDaemon:
    """Wait for an answer of the daemon that holds the lock: it may have just been started."""
    statuses: list[StatusInfo] = []

    def answers() -> bool:
        with suppress(NotRunning):
            statuses.append(show_status(Client(here.door)))
        return bool(statuses) or not is_alive(pid)

    try:
        wait_until(answers)
        why = f"{_last_line(errors)}{SILENT}"
    except Answered as refusal:
        why = str(refusal)
    if not statuses:
        complain(f"{AlreadyRunning(f'pid {pid}.')} {why}")
        sys.exit(FAILED)
    return StartedDaemon(pid, statuses[0])


def _last_line(errors: Path) -> str:
    """Return a sentence with the last line that a starting daemon logged; empty if none."""
    try:
        error_lines = errors.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return f"It says: {error_lines[-1].removeprefix('rookery: ')} " if error_lines else ""


def wait_until(is_so: Callable[[], bool]) -> bool:
    """Check a condition 20 times a second. Returns False if it was not met in time."""
    for _ in range(int(START_STOP_TIMEOUT_S * 20)):
        if is_so():
            return True
        pause(0.05)
    return False


def status_of(here: Home) -> StatusInfo | None:
    try:
        return show_status(Client(here.door))
    except (NotRunning, Answered):
        return None
