"""Run the daemon's loops so that a failing step never ends the daemon.

A step that raises is logged once for each distinct error, and retried after a delay that
doubles. No loop has an ``except`` clause of its own for that: such loops tend to leave a line
outside of it, and that line ends the daemon on a full disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from rookery.model.errors import (
    CommitFailed,
    HomeUnusable,
    RuntimeFailed,
    SessionUnknown,
    StoreLost,
)
from rookery.model.facts import SessionId
from rookery.ports.clock import Clock

_log = logging.getLogger(__name__)

T = TypeVar("T")

Work: TypeAlias = Callable[[], Awaitable[object]]

#: Takes the next step for a session. False if there is nothing to do now.
Step: TypeAlias = Callable[[SessionId], Awaitable[bool]]

#: Seconds before a failed step is retried: the first delay and the maximum.
ERROR_BACKOFF_S = (0.5, 30.0)

#: Seconds before a retry after a session's runtime could not be reached.
RUNTIME_PAUSE_S = 1.0

#: Seconds between two checks of deadlines.
DEADLINE_CHECK_S = 1.0

#: A longer interval between two checks means that the computer slept or its clock was set.
CLOCK_JUMP = timedelta(seconds=10)

#: More doublings would only produce a number too large for a float.
_MAX_DOUBLINGS = 32

#: Failures with a known cause, such as a full disk: their message is enough.
_EXPECTED = (CommitFailed, HomeUnusable, RuntimeFailed, StoreLost, OSError)


def _trace(error: Exception) -> Exception | None:
    return None if isinstance(error, _EXPECTED) else error


async def outcome_of(work: Awaitable[T]) -> T | Exception:
    """Return the result of ``work``, or any error that it raised."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - a supervised boundary
        return error


@dataclass(slots=True)
class SupervisedStep:
    """One named step of a loop, and its last failure."""

    name: str
    clock: Clock
    backoff: tuple[float, float] = ERROR_BACKOFF_S
    _error: str = ""
    _failures: int = 0

    async def attempt(self, work: Work) -> bool:
        """Run ``work``. If it raises: log the error, wait, and return False."""
        outcome = await outcome_of(work())
        if isinstance(outcome, Exception):
            await self.back_off(outcome)
            return False
        self.succeed()
        return True

    async def back_off(self, error: Exception) -> None:
        """Log ``error`` unless it is the one logged last, and wait longer each time."""
        if (description := f"{type(error).__name__}: {error}") != self._error:
            self._error = description
            arguments = (self.name, description)
            _log.warning("%s failed and is retried: %s", *arguments, exc_info=_trace(error))
        first, longest = self.backoff
        pause = min(first * 2 ** min(self._failures, _MAX_DOUBLINGS), longest)
        self._failures += 1
        await self.clock.sleep(pause)

    def succeed(self) -> None:
        """Forget the last failure: the next one is logged and retried soon."""
        if self._error:
            _log.info("%s works again.", self.name)
        self._error, self._failures = "", 0


async def until_done(work: Work, *, name: str, clock: Clock) -> None:
    """Retry ``work`` until it succeeds."""
    step = SupervisedStep(name, clock)
    while not await step.attempt(work):
        pass


async def every(
    seconds: float,
    work: Work,
    *,
    name: str,
    clock: Clock,
    backoff: tuple[float, float] = ERROR_BACKOFF_S,
) -> None:
    """Run ``work`` for ever, with ``seconds`` between two runs and more after a failure."""
    step = SupervisedStep(name, clock, backoff)
    while True:
        if await step.attempt(work):
            await clock.sleep(seconds)


async def watch_deadlines(
    clock: Clock, put_off: Callable[[timedelta], Awaitable[object]], expire: Work, *, name: str
) -> None:
    """Run ``expire`` each second for ever; time in which the computer slept does not count.

    After a jump of the clock, ``put_off`` moves all deadlines by the length of the jump.
    """
    before = clock.now()

    async def look() -> None:
        nonlocal before
        now = clock.now()
        jump = now - before - timedelta(seconds=DEADLINE_CHECK_S)
        if abs(jump) > CLOCK_JUMP:
            await put_off(jump)  # if it fails, the next check sees the jump again
        before = now
        await expire()

    # A longer backoff after a failure would look as if the computer had slept.
    pause = (DEADLINE_CHECK_S, DEADLINE_CHECK_S)
    await every(DEADLINE_CHECK_S, look, name=name, clock=clock, backoff=pause)


async def all_of(works: Iterable[Work]) -> None:
    """Run all, also after one that raises; then raise the first error."""
    outcomes = [await outcome_of(work()) for work in works]
    if errors := [each for each in outcomes if isinstance(each, Exception)]:
        raise errors[0]


async def contained(work: Work, *, name: object) -> bool:
    """Run ``work`` once; if it raises, log the error with ``name``, and return False."""
    outcome = await outcome_of(work())
    if isinstance(outcome, Exception):
        _log.warning("%s failed: %s", name, outcome, exc_info=_trace(outcome))
        return False
    return True


def spawn(tasks: TaskGroup, work: Work, *, name: str) -> None:
    """Run ``work`` once as a task of its own. What it raises is logged and ends nothing."""
    tasks.start_soon(partial(contained, work, name=name))


async def first_of(*waits: Awaitable[T]) -> T:
    """Wait for the first to finish, cancel the others, and return or raise its result."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(each for each in tasks if each in done).result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Takes steps for sessions that need them: concurrently, but one at a time for each."""

    name: str
    clock: Clock
    #: Returns the sessions for which there is something to do.
    pending: Callable[[], Awaitable[Iterable[SessionId]]]
    step: Step
    #: Returns an event that is set once anything changes that could make a session pending.
    changed: Callable[[], asyncio.Event]

    async def run(self) -> None:
        """Take steps whenever something has changed. Runs for ever."""
        listing = SupervisedStep(self.name, self.clock)
        busy: set[SessionId] = set()
        async with anyio.create_task_group() as tasks:

            async def begin() -> None:
                for session in await self.pending():
                    if session not in busy:
                        busy.add(session)
                        tasks.start_soon(self._take_steps, session, busy)

            while True:
                # Taken before the list is read, so that no change is missed in between.
                change = self.changed()
                if await listing.attempt(begin):
                    await change.wait()

    async def _take_steps(self, session: SessionId, busy: set[SessionId]) -> None:
        """Take steps for a session until there are none."""
        attempts = SupervisedStep(f"{self.name} for session {session}", self.clock)
        more = True

        async def take_one() -> None:
            nonlocal more
            change = self.changed()
            # Repeat after a change: while this session is busy, ``run`` does not start it
            # again.
            more = await self._take_one(session) or change.is_set()

        while more:
            await attempts.attempt(take_one)
        busy.discard(session)

    async def _take_one(self, session: SessionId) -> bool:
        try:
            return await self.step(session)
        except SessionUnknown:
            return False
        except RuntimeFailed:
            # The session's runtime is unreachable, or the result is unknown: the next step
            # checks again.
            await self.clock.sleep(RUNTIME_PAUSE_S)
            return True
