"""The clock interface."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Returns the time and sleeps. ``now`` may be called from any thread."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...
