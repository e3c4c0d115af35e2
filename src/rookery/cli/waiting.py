"""Waiting for what a daemon will say, also while it goes and comes back."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from time import monotonic
from typing import Any, TypeVar

import click

from rookery.cli.blocked import Obstacles
from rookery.cli.exit_codes import INTERRUPTED
from rookery.cli.render import complain, remark
from rookery.client import Client, CutOff
from rookery.model.errors import Answered, BadInput, NotRunning

C = TypeVar("C", bound=Callable[..., object])

#: Seconds for which a daemon may be asked to wait at once.
DAY = 86_400.0

#: Seconds after which whoever waits is told what is in the way, and between later looks.
NOTICE, SELDOM = 3.0, 60.0

#: Seconds for a daemon that went to come back: it may be restarting.
RETURN = 10.0


def patiently(
    daemon: Client,
    *path: str,
    timeout: float | None,
    otherwise: str,
    meanwhile: Callable[[], None] | None = None,
    **query: object,
) -> Any:  # noqa: ANN401 - JSON
    """Ask what may take long, or for ever, and if the daemon goes meanwhile, ask the next one.

    What is to be done ``meanwhile`` is done after a few seconds, and then ever more seldom.
    Raises ``CutOff`` with the words ``otherwise`` if none comes back soon.
    """
    deadline = monotonic() + (inf if timeout is None else timeout)
    pace = NOTICE if meanwhile else DAY
    while True:
        left = min(max(deadline - monotonic(), 0.1), pace)
        try:
            return daemon.get(*path, timeout=left, **query)
        except NotRunning:
            await_return(daemon, otherwise=otherwise)
        except Answered as refusal:
            if refusal.code != "still-working" or monotonic() > deadline:
                raise
            if meanwhile:
                meanwhile()
                pace = min(2 * pace, SELDOM)


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


def gathered(
    daemon: Client, sessions: Sequence[str], *, needed: int, until: str, timeout: float | None
) -> Iterator[Mapping[str, Any]]:
    """Give sessions as they get there, until there are enough of them."""
    deadline = monotonic() + (inf if timeout is None else timeout)
    awaited, names, there = tuple(sessions), tuple(sessions), 0
    obstacles = Obstacles(daemon)
    while awaited and there < needed:
        found = patiently(
            daemon,
            "wait",
            timeout=max(deadline - monotonic(), 0.1),
            otherwise=goes_on(*names),
            meanwhile=partial(obstacles.tell, awaited) if until == "stop" else None,
            sessions=awaited,
            needed="any",
            until=until,
        )
        yield from found["there"]
        there += len(found["there"])
        awaited, names = (
            tuple(each[word] for each in found["awaited"]) for word in ("id", "name")
        )


def how_many(command: C) -> C:
    """Let a command say how many of several are enough."""
    several = click.option("--count", "number", type=click.IntRange(1, 100), help="So many.")
    some = click.option("--any", "some", is_flag=True, help="Whichever comes first.")
    every = click.option("--all", "every", is_flag=True, help="All of them.")
    return every(some(several(command)))


def needed_of(given: Mapping[str, Any], names: Sequence[str], *, otherwise: str) -> str | int:
    """Return how many are enough: a number, "all", "any", or what it is without a word."""
    asked = [word for flag, word in (("every", "all"), ("some", "any")) if given[flag]]
    asked += [given["number"]] if given["number"] else []
    if len(asked) > 1:
        raise BadInput("say one of --all, --any and --count.")
    if given["number"] and given["number"] > len(names):
        raise BadInput(f"--count is {given['number']}, of {len(names)} that are named.")
    return asked[0] if asked else otherwise


def goes_on(*names: str) -> str:
    """Say what is true of sessions while no daemon runs, and how one sees them again."""
    show = f"rookery output {names[0]}" if len(names) == 1 else "rookery ls"
    return f"while this waited; {_go_on(names)}. Start it:  rookery up  then:  {show}"


def _go_on(names: Sequence[str]) -> str:
    return f"{names[0]} goes on" if len(names) == 1 else "they go on"


@contextmanager
def stoppable(*names: str) -> Iterator[None]:
    """Let Ctrl-C end the waiting, and say that it ends nothing else."""
    try:
        yield
    except KeyboardInterrupt:
        remark(f"\nStopped waiting; {_go_on(names)}.")
        sys.exit(INTERRUPTED)


def pause(seconds: float) -> None:
    select.select([], [], [], seconds)
