"""Track which requests have a hook program that waits for their answer.

A hook program whose daemon stops tries to reconnect for ``RESTART_TIMEOUT_SECONDS``. Then it
exits, and its agent asks in its own terminal. The daemon sees only that it does not reconnect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rookery.model.permissions import RequestId
from rookery.programs.hook import RESTART_TIMEOUT_SECONDS

#: A hook program that has not come back after this time has given up. The margin is for its
#: last attempt, which may begin just before it gives up, and for a busy machine.
HOOK_RETURN_TIMEOUT = timedelta(seconds=RESTART_TIMEOUT_SECONDS + 5.0)


@dataclass(frozen=True, slots=True)
class HookWaits:
    """The connections of waiting hook programs by request, in this daemon only."""

    #: Several hook programs may wait for one request: some agents call each hook twice.
    _waiting: Counter[RequestId] = field(default_factory=Counter)
    _missing_since: dict[RequestId, datetime] = field(default_factory=dict)

    @contextmanager
    def waiting(self, request: RequestId) -> Iterator[None]:
        """Count a hook program as waiting during the block."""
        self._waiting[request] += 1
        try:
            yield
        finally:
            self._waiting[request] -= 1
            if not self._waiting[request]:
                del self._waiting[request]

    def is_waiting(self, request: RequestId) -> bool:
        return request in self._waiting

    def given_up(self, expected: Collection[RequestId], *, now: datetime) -> list[RequestId]:
        """Return the requests whose hook program has been missing for too long to return."""
        missing = {each for each in expected if not self.is_waiting(each)}
        for returned in self._missing_since.keys() - missing:
            del self._missing_since[returned]
        for each in missing:
            self._missing_since.setdefault(each, now)
        due = now - HOOK_RETURN_TIMEOUT
        return [each for each in expected if self._missing_since.get(each, now) < due]

    def start_over(self) -> None:
        """Restart the timers: the clock jumped, and hook programs do not count time asleep."""
        self._missing_since.clear()
