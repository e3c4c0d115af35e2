"""Run the steps of background loops so that a failing step never ends the daemon.

A step that raises is logged once for each distinct error, and tried again after a pause that
doubles. These are the broad ``except`` clauses that a loop should use; a loop that writes its
own tends to leave one line outside of it, and that line ends the daemon on a full disk.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rookery.model.errors import CommitFailed, RuntimeFailed, StoreLost
from rookery.ports import Clock

_log = logging.getLogger(__name__)

#: Seconds before a step that failed is tried again: the first time, and at most.
ERROR_BACKOFF_S = (0.5, 30.0)

#: More doublings than this make no difference, but a number too large for a float.
_MAX_DOUBLINGS = 32

#: Failures with a known cause, such as a full disk: their message says enough.
_EXPECTED = (CommitFailed, RuntimeFailed, StoreLost, OSError)


@dataclass(slots=True)
class SupervisedStep:
    """One named step of a loop, and how it failed last."""

    name: str
    clock: Clock
    backoff: tuple[float, float] = ERROR_BACKOFF_S
    _error: str = ""
    _failures: int = 0

    async def attempt(self, work: Callable[[], Awaitable[object]]) -> bool:
        """Run ``work``. If it raises: log the error, wait, and return False."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a supervised boundary
            await self.back_off(error)
            return False
        self.succeed()
        return True

    async def back_off(self, error: Exception) -> None:
        """Log ``error`` unless it is the one logged last, and wait longer each time."""
        if (said := f"{type(error).__name__}: {error}") != self._error:
            self._error = said
            trace = None if isinstance(error, _EXPECTED) else error
            _log.warning("%s failed and is retried: %s", self.name, said, exc_info=trace)
        first, longest = self.backoff
        pause = min(first * 2 ** min(self._failures, _MAX_DOUBLINGS), longest)
        self._failures += 1
        await self.clock.sleep(pause)

    def succeed(self) -> None:
        """Forget the last failure: the next one is logged and retried soon."""
        if self._error:
            _log.info("%s works again.", self.name)
        self._error, self._failures = "", 0


async def until_done(work: Callable[[], Awaitable[object]], *, name: str, clock: Clock) -> None:
    """Run ``work`` again and again until it succeeds once."""
    step = SupervisedStep(name, clock)
    while not await step.attempt(work):
        pass


async def every(
    seconds: float, work: Callable[[], Awaitable[object]], *, name: str, clock: Clock
) -> None:
    """Run ``work`` for ever, with ``seconds`` between two runs and more after a failure."""
    step = SupervisedStep(name, clock)
    while True:
        if await step.attempt(work):
            await clock.sleep(seconds)


async def contained(work: Callable[[], Awaitable[object]], *, name: str) -> bool:
    """Run ``work`` once. Log what it raises, and return False then."""
    try:
        await work()
    except Exception:  # noqa: BLE001 - a supervised boundary
        _log.exception("%s failed.", name)
        return False
    return True
