"""Show a screen again after each event of the daemon, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum, auto
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TypeVar

import click

from rookery.cli.daemon_waits import pause
from rookery.cli.exit_codes import INTERRUPTED
from rookery.cli.tables import size_here
from rookery.client import Client
from rookery.client.daemon import show_status
from rookery.client.streams import read_events
from rookery.model.errors import NotRunning, RookeryError, TimedOut
from rookery.presentation.cells import cut

T = TypeVar("T")

#: Minimum seconds between two screens: many events come at once.
MIN_INTERVAL_S = 0.25

#: Seconds between two attempts to reach a daemon that has stopped.
RETRY_S = 0.5

#: Switch to the terminal's alternate screen and hide the cursor, and undo both.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"

#: Move to the first cell, erase the rest of a line, and erase the rest of the screen.
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"

_AWAY = "No daemon is running; waiting for it to come back. Start it:  rookery up"


class Cause(Enum):
    """Why the screen is drawn again."""

    EVENT = auto()
    RESIZED = auto()
    LOST = auto()


Causes = SimpleQueue[Cause]


def watch(
    daemon: Client, lines_of: Callable[[T, int], list[str]], fetch: Callable[[], T]
) -> None:
    """Fetch and draw now and after each event of the daemon. Exits with 130 after Ctrl-C.

    ``lines_of`` gets the result of ``fetch`` and the number of the terminal's columns.
    """
    show_status(daemon)  # raises without a daemon, instead of waiting for one
    causes: Causes = SimpleQueue()
    Thread(target=_listen, args=(daemon, causes), daemon=True).start()
    try:
        with _alternate_screen(causes):
            _draw_until_stopped(lines_of, fetch, causes)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _draw_until_stopped(
    lines_of: Callable[[T, int], list[str]], fetch: Callable[[], T], causes: Causes
) -> None:
    shown, is_away = fetch(), False
    while True:
        columns, rows = size_here()
        _draw([_title(columns, is_away=is_away), "", *lines_of(shown, columns)], rows)
        cause = _next(causes, drawn=monotonic())
        if cause is Cause.EVENT:
            try:
                shown, is_away = fetch(), False
            except (NotRunning, TimedOut):
                is_away = True
        elif cause is Cause.LOST:
            is_away = True


def _next(causes: Causes, drawn: float) -> Cause:
    """Wait for the next cause, and merge causes that follow closely into one."""
    cause = causes.get()
    if cause is Cause.EVENT:
        pause(max(drawn + MIN_INTERVAL_S - monotonic(), 0))
    while True:
        try:
            later = causes.get_nowait()
        except Empty:
            return cause
        cause = cause if later is Cause.RESIZED else later


def _title(columns: int, *, is_away: bool) -> str:
    if is_away:
        return click.style(cut(_AWAY, columns), fg="red")
    time = datetime.now().astimezone().strftime("%H:%M:%S")
    return cut(f"{time}  after each event; stop with Ctrl-C", columns)


def _draw(lines: list[str], rows: int) -> None:
    """Draw over the last screen, without erasing it first: that would flicker."""
    if not sys.stdout.isatty():
        click.echo("\n".join([*lines, ""]))
    else:
        # No line end after the last row: the terminal would scroll.
        text = f"{_REST_OF_LINE}\r\n".join(lines[:rows])
        sys.stdout.write(f"{_HOME}{text}{_REST_OF_LINE}{_REST}")
    sys.stdout.flush()


@contextmanager
def _alternate_screen(causes: Causes) -> Iterator[None]:
    """Use the terminal's alternate screen, and draw again when the terminal is resized."""
    if not sys.stdout.isatty():
        yield
        return
    before = signal.signal(signal.SIGWINCH, lambda *_: causes.put(Cause.RESIZED))
    sys.stdout.write(_ENTER)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


def _listen(daemon: Client, causes: Causes) -> None:
    """Queue a cause for each event and for each loss of the daemon, and reconnect to it."""
    while True:
        try:
            for _ in read_events(daemon.lines("events")):
                causes.put(Cause.EVENT)
        except RookeryError:
            pass
        causes.put(Cause.LOST)
        pause(RETRY_S)
