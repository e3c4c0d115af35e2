"""Waiting for what a daemon will say, also while it goes and comes back."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any

from rookery.cli.codes import INTERRUPTED
from rookery.cli.show import complain, remark
from rookery.client import Client, CutOff
from rookery.model.errors import Answered, NotRunning

#: Seconds for which a daemon may be asked to wait at once.
DAY = 86_400.0

#: Seconds for a daemon that went to come back: it may be restarting.
RETURN = 10.0


def patiently(
    daemon: Client, *path: str, timeout: float | None, otherwise: str, **query: object
) -> Any:  # noqa: ANN401 - JSON
    """Ask what may take long, or for ever, and if the daemon goes meanwhile, ask the next one.

    Raises ``CutOff`` with the words ``otherwise`` if none comes back soon.
    """
    deadline = monotonic() + (inf if timeout is None else timeout)
    while True:
        left = min(max(deadline - monotonic(), 0.1), DAY)
        try:
            return daemon.get(*path, timeout=left, **query)
        except NotRunning:
            await_return(daemon, otherwise=otherwise)
        except Answered as refusal:
            if refusal.code != "still-working" or monotonic() > deadline:
                raise


def await_return(daemon: Client, *, otherwise: str) -> None:
    """Wait for a daemon that went. Raises ``CutOff`` if it does not come back soon."""
    if _is_back(daemon):
        return
    complain(f"the daemon has stopped; for {RETURN:g} s this waits for it to come back.")
    deadline = monotonic() + RETURN
    while not _is_back(daemon):
        if monotonic() > deadline:
            raise CutOff(otherwise)


def _is_back(daemon: Client) -> bool:
    pause(0.1)
    try:
        daemon.get("status")
    except NotRunning:
        return False
    return True


def goes_on(name: str) -> str:
    """Say what is true of a session while no daemon runs, and how one sees it again."""
    again = f"Start it:  rookery up  then:  rookery output {name}"
    return f"while this waited; {name} goes on. {again}"


@contextmanager
def stoppable(name: str) -> Iterator[None]:
    """Let Ctrl-C end the waiting, and say that it ends nothing else."""
    try:
        yield
    except KeyboardInterrupt:
        remark(f"\nStopped waiting; {name} goes on.")
        sys.exit(INTERRUPTED)


def pause(seconds: float) -> None:
    select.select([], [], [], seconds)
