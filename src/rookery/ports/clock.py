"""What we ask of a clock."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """What time it is, and waiting for a later one. ``now`` is called from any thread."""

    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...
