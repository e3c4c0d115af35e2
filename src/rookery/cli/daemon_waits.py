"""Wait for answers of the daemon, even while it restarts."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic
from typing import Protocol, TypeVar

import click

from rookery.cli.blocked import BlockedNotices
from rookery.cli.exit_codes import INTERRUPTED
from rookery.cli.render import complain, remark
from rookery.client import Client, ConnectionLost
from rookery.client.daemon import show_status
from rookery.client.sessions import SessionInfo, wait_for_any
from rookery.model.errors import Answered, BadInput, NotRunning
from rookery.presentation.texts import count

C = TypeVar("C", bound=Callable[..., object])
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Maximum seconds that one request may ask the daemon to wait.
MAX_WAIT_S = 86_400.0

#: Seconds until a waiting user is told what blocks messages, and the longest until the next
#: check.
FIRST_NOTICE_S, MAX_NOTICE_INTERVAL_S = 3.0, 60.0

#: Seconds to wait for a daemon that stopped: it may be restarting.
RETURN_TIMEOUT_S = 10.0


class TimedRequest(Protocol[T_co]):
    """A request to the daemon that may wait up to ``timeout`` seconds."""

    def __call__(self, *, timeout: float) -> T_co: ...


def patiently(
    daemon: Client,
    ask: TimedRequest[T],
    *,
    timeout: float | None,
    otherwise: str,
    meanwhile: Callable[[], None] | None = None,
) -> T:
    """Send a request that may take long; if the daemon restarts meanwhile, repeat it.

    ``meanwhile`` is called after a few seconds, and then at growing intervals.
    Raises ``ConnectionLost`` with the text ``otherwise`` if no daemon comes back soon.
    """
    deadline = monotonic() + (inf if timeout is None else timeout)
    pace = FIRST_NOTICE_S if meanwhile else MAX_WAIT_S
    while True:
        seconds = min(max(deadline - monotonic(), 0.1), pace)
        try:
            return ask(timeout=seconds)
        except NotRunning:
            await_return(daemon, otherwise=otherwise)
        except Answered as refusal:
            if refusal.code != "still-working" or monotonic() > deadline:
                raise
            if meanwhile:
                meanwhile()
                pace = min(2 * pace, MAX_NOTICE_INTERVAL_S)


def await_return(daemon: Client, *, otherwise: str) -> None:
    """Wait for a daemon that stopped. Raises ``ConnectionLost`` if it stays away too long."""
    if _is_back(daemon):
        return
    complain(f"the daemon has stopped; waiting {RETURN_TIMEOUT_S:g} s for it to come back.")
    deadline = monotonic() + RETURN_TIMEOUT_S
    while not _is_back(daemon):
        if monotonic() > deadline:
            raise ConnectionLost(otherwise)


def _is_back(daemon: Client) -> bool:
    pause(0.1)
    try:
        show_status(daemon)
    except NotRunning:
        return False
    return True


class _ShownRequest(Protocol):
    """Wraps a request so that a line is shown while it waits (``wait_line.shown_during``)."""

    def __call__(self, ask: TimedRequest[T], /) -> TimedRequest[T]: ...


def _unshown(ask: TimedRequest[T], /) -> TimedRequest[T]:
    return ask


@dataclass(frozen=True, slots=True)
class WaitPlan:
    """The state that several sessions must reach, how many of them, and within which time."""

    needed: int
    until: str
    timeout: float | None
    #: Called with a session that asks its person something; the wait for it then continues.
    #: With ``None``, a session that asks counts as stopped.
    asked: Callable[[SessionInfo], None] | None = None
    shown: _ShownRequest = _unshown


def gathered(daemon: Client, sessions: Sequence[str], plan: WaitPlan) -> Iterator[SessionInfo]:
    """Yield sessions as they reach the state that the plan names, until enough have."""
    deadline = monotonic() + (inf if plan.timeout is None else plan.timeout)
    awaited, names, reached = tuple(sessions), tuple(sessions), 0
    known: tuple[str, ...] = ()
    notices = BlockedNotices(daemon)
    while awaited and reached < plan.needed:
        ask = partial(wait_for_any, daemon, awaited, until=plan.until, known=known)
        outcome = patiently(
            daemon,
            plan.shown(ask),
            timeout=max(deadline - monotonic(), 0.1),
            otherwise=goes_on(*names),
            meanwhile=partial(notices.tell, awaited) if plan.until == "stop" else None,
        )
        asking = [each for each in outcome.there if each.is_asking] if plan.asked else []
        for each in outcome.there:
            if each not in asking:
                yield each
            elif plan.asked:
                plan.asked(each)
        reached += len(outcome.there) - len(asking)
        known += tuple(each.since for each in asking)
        awaited = tuple(each.id for each in (*outcome.awaited, *asking))
        names = tuple(each.name for each in (*outcome.awaited, *asking))


def how_many(command: C) -> C:
    """Add the options that say how many of several sessions are enough."""
    several = click.option(
        "--count",
        "number",
        type=click.IntRange(1, 100),
        help="Number of sessions that are enough.",
    )
    some = click.option("--any", "some", is_flag=True, help="Until one of them stops.")
    every = click.option("--all", "every", is_flag=True, help="Until all of them have stopped.")
    return every(some(several(command)))


@dataclass(frozen=True, slots=True)
class WaitGoal:
    """How many of several sessions the user wants to wait for."""

    every: bool
    some: bool
    number: int | None

    def of(self, names: Sequence[str], *, otherwise: str) -> str | int:
        """Return a number, "all" or "any"; ``otherwise`` if the user chose none."""
        choices: list[str | int] = ["all"] if self.every else []
        choices += ["any"] if self.some else []
        choices += [self.number] if self.number else []
        if len(choices) > 1:
            raise BadInput("use only one of --all, --any and --count.")
        if self.number and self.number > len(names):
            named = f"{count(len(names), 'session')} {'is' if len(names) == 1 else 'are'} named"
            raise BadInput(f"--count is {self.number}, but only {named}.")
        return choices[0] if choices else otherwise


def goes_on(*names: str, note: str = "") -> str:
    """Return an error text: the sessions continue without a daemon, and how to see them."""
    show = f"rookery output {names[0]}" if len(names) == 1 else "rookery ls"
    start = f"{note} Start it:".lstrip()
    return f"while this waited; {_go_on(names)}. {start}  rookery up  then:  {show}"


def _go_on(names: Sequence[str]) -> str:
    return f"{names[0]} keeps working" if len(names) == 1 else "they keep working"


@contextmanager
def stoppable(*names: str) -> Iterator[None]:
    """End the wait on Ctrl-C and print that the sessions continue."""
    try:
        yield
    except KeyboardInterrupt:
        see = f"rookery output {names[0]}" if len(names) == 1 else "rookery ls"
        remark(f"\nStopped waiting; {_go_on(names)}. See:  {see}")
        sys.exit(INTERRUPTED)


def pause(seconds: float) -> None:
    select.select([], [], [], seconds)
