"""A driven session without a daemon: its driver runs within the test, its events are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.commands import AgentAnswer, AgentPrompt, Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter, path_of
from rookery.drivers.events import Asked, Ended, Event, ProcessStarted, TurnOver, Up

#: Seconds for anything that should happen at once, on a busy machine.
SOON = 30.0

E = TypeVar("E", bound=Event)


class Driven:
    """One session; all its events so far are in ``events``."""

    def __init__(self, start: Start, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        path = path_of(folder, start.session)
        self.session = DrivenSession(start, EventWriter(path), self._read)
        self.events: list[Event] = []
        self._file = EventReader(path)
        self._grown = asyncio.Event()
        self._prompts = 0

    def _read(self) -> None:
        found = (entry.event for entry in self._file.read())
        # The host reports the process by itself.
        self.events += [each for each in found if not isinstance(each, ProcessStarted)]
        self._grown.set()

    async def run(self) -> None:
        driver = self.session.start.driver
        await self.session.run(partial(find_driver, driver))

    async def until(self, kind: type[E], *, number: int = 1) -> E:
        """Wait for the event of a kind that is the so manieth of it."""
        async with asyncio.timeout(SOON):
            while True:
                found = self.of(kind)
                if len(found) >= number:
                    return found[number - 1]
                assert not self.of(Ended), self.events
                self._grown.clear()
                await self._grown.wait()

    def of(self, kind: type[E]) -> list[E]:
        return [each for each in self.events if isinstance(each, kind)]

    async def prompt(self, text: str) -> None:
        await self.until(Up)
        self._prompts += 1
        await self.session.prompt(
            AgentPrompt(self.session.start.session, str(self._prompts), text)
        )

    async def ask(self, text: str) -> TurnOver:
        """Give a prompt, and wait for the end of its turn."""
        before = len(self.of(TurnOver))
        await self.prompt(text)
        return await self.until(TurnOver, number=before + 1)

    async def asked(self, *, number: int = 1) -> Asked:
        return await self.until(Asked, number=number)

    def answer(
        self,
        asked: Asked,
        allow: bool,
        message: str = "",
        answers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        session = self.session.start.session
        self.session.answer(AgentAnswer(session, asked.request, allow, message, answers or {}))

    async def ended(self) -> Ended:
        return await self.until(Ended)


@asynccontextmanager
async def driving(start: Start, folder: Path) -> AsyncIterator[Driven]:
    """Run a session while the block lasts, and end it with all its processes."""
    driven = Driven(start, folder)
    running = asyncio.ensure_future(driven.run())
    try:
        yield driven
    finally:
        await driven.session.close()
        await asyncio.wait_for(running, SOON)
