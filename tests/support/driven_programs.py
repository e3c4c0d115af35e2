"""Drives a real agent program in this process, without a daemon, and waits for its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import anyio

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.commands import AgentAnswer, AgentPrompt, Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import Asked, Ended, Event, TurnOver, Up
from rookery.ports.agent import DriverLine

#: Seconds for a real program to do something, on a busy machine.
DEADLINE_S = 60.0

E = TypeVar("E", bound=Event)


class DrivenProgram:
    """One driven session, and the events that it has reported."""

    def __init__(self, start: Start, writer: EventWriter, reader: EventReader) -> None:
        self.session = DrivenSession(start, writer, self._note_change)
        self.events: list[Event] = []
        self._reader = reader
        self._changed = asyncio.Event()
        self._prompts = 0

    def _note_change(self) -> None:
        self.events += [entry.event for entry in self._reader.read()]
        self._changed.set()

    async def until(
        self, kind: type[E], fits: Callable[[E], bool] = lambda _: True, *, after: int = 0
    ) -> E:
        """Wait for an event after the first ``after`` ones."""
        with anyio.fail_after(DEADLINE_S):
            while True:
                for event in self.events[after:]:
                    if isinstance(event, kind) and fits(event):
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def prompt(self, text: str) -> None:
        self._prompts += 1
        await self.session.prompt(AgentPrompt("s", f"key {self._prompts}", text))

    async def turn(self, text: str) -> TurnOver:
        """Give it a prompt and wait for the end of the turn."""
        seen = len(self.events)
        await self.prompt(text)
        return await self.until(TurnOver, after=seen)

    async def asked(self, *, after: int = 0) -> Asked:
        return await self.until(Asked, after=after)

    def answer(self, asked: Asked, **fields: object) -> None:
        self.session.answer(AgentAnswer("s", asked.request, **fields))  # type: ignore[arg-type]

    def of(self, kind: type[E], *, after: int = 0) -> list[E]:
        return [each for each in self.events[after:] if isinstance(each, kind)]


@asynccontextmanager
async def driven(
    line: DriverLine, folder: Path, project: Path, environment: Mapping[str, str]
) -> AsyncIterator[DrivenProgram]:
    """Start a program, wait until it is up, and end it."""
    async with begun(line, folder, project, environment) as program:
        await program.until(Up)
        yield program


@asynccontextmanager
async def begun(
    line: DriverLine, folder: Path, project: Path, environment: Mapping[str, str]
) -> AsyncIterator[DrivenProgram]:
    """Start a program, which may fail, and end it."""
    path = folder / f"{uuid4()}.events"
    writer = EventWriter(path)
    for file, text in line.line.files.items():
        file.write_text(text)
    start = Start(
        session="s",
        driver=line.driver,
        argv=line.line.argv,
        environment={**environment, **line.line.environment},
        folder=str(project),
        options=line.options,
    )
    program = DrivenProgram(start, writer, EventReader(path))
    session = program.session
    running = asyncio.create_task(session.run(lambda: find_driver(line.driver)))
    try:
        yield program
        await session.close()
        await program.until(Ended)
    finally:
        await session.end_processes(9)
        await running
        writer.close()
