"""What was seen of driven sessions and is not recorded yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from rookery.ports.sightings import Reported, ReportedTogether, Sighting, TextsReported

#: Reports that are recorded in one transaction, which others wait for.
MAX_REPORTS = 200


class SightingQueue:
    def __init__(self) -> None:
        self._sightings: deque[Sighting] = deque()
        self._is_seen = asyncio.Event()  #: there are sightings

    def add(self, sighting: Sighting) -> None:
        self._sightings.append(sighting)
        self._is_seen.set()

    async def watch(self) -> AsyncIterator[Sighting]:
        """Yield sightings; reports that came while the caller was busy are yielded as one."""
        while True:
            await self._is_seen.wait()
            reports: list[Reported | TextsReported] = []
            while self._sightings and len(reports) < MAX_REPORTS:
                if not isinstance(first := self._sightings[0], Reported | TextsReported):
                    break
                reports.append(first)
                self._sightings.popleft()
            if reports:
                yield ReportedTogether(tuple(reports))
            elif self._sightings:
                yield self._sightings.popleft()
            else:
                self._is_seen.clear()
