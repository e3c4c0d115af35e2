"""An ACP session in the driver host, within the test: its prompts, answers and events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from rookery.agents.driver_catalog import find_driver
from rookery.drivers.commands import AgentAnswer, AgentPrompt, Start
from rookery.drivers.driven_session import DrivenSession
from rookery.drivers.event_file import EventReader, EventWriter
from rookery.drivers.events import Asked, Basis, Ended, Event, TurnOver, Up
from rookery.ports.agent import DriverLine

_E = TypeVar("_E", bound=Event)

#: Seconds for anything that an agent does at once, on a busy machine.
SOON = 60.0


class AcpSession:
    """One session; it ends with the block.

    What no person is asked about is allowed at once, as by a daemon without rules.
    """

    def __init__(
        self,
        place: Path,
        line: DriverLine,
        environment: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401 - fields of ``Start``
    ) -> None:
        self.project = place / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        path = place / "session.events"
        self._reader = EventReader(path)
        self.events: list[Event] = []
        self.denied_bases: frozenset[Basis] = frozenset()  #: as if a rule denied all such calls
        self._bell = asyncio.Event()
        for file, text in line.line.files.items():
            file.write_text(text)
        usual = {"PATH": os.environ["PATH"], "HOME": str(place)}
        start = Start(
            session="it",
            driver=line.driver,
            argv=line.line.argv,
            environment={**usual, **(environment or {}), **line.line.environment},
            folder=str(self.project),
            options=line.options,
            **more,
        )
        self.driven = DrivenSession(start, EventWriter(path), self._take)
        self._prompts = 0
        self._task: asyncio.Task[None] | None = None

    def _take(self) -> None:
        new = [entry.event for entry in self._reader.read()]
        self.events += new
        for asked in of(Asked, new):
            if asked.basis != "person":
                allow = asked.basis not in self.denied_bases
                self.driven.answer(AgentAnswer("it", asked.request, allow=allow))
        self._bell.set()

    async def __aenter__(self) -> Self:
        find = partial(find_driver, self.driven.start.driver)
        self._task = asyncio.ensure_future(self.driven.run(find))
        while not (self.driven.driver or self._task.done()):
            await asyncio.wait({self._task}, timeout=0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._task
        await self.driven.close()
        async with asyncio.timeout(SOON):
            await self._task

    async def until(self, kind: type[_E], *, after: int = 0) -> _E:
        """Wait for the next event of a kind, from a number of events on."""
        return await self.until_found(lambda event: isinstance(event, kind), after)  # type: ignore[return-value]

    async def until_found(self, wanted: Callable[[Event], bool], after: int = 0) -> Event:
        async with asyncio.timeout(SOON):
            while True:
                self._bell.clear()
                found = next(filter(wanted, self.events[after:]), None)
                if found is not None:
                    return found
                assert not isinstance(self.events[-1:], Ended), self.events
                await self._bell.wait()

    async def up(self) -> Up:
        found = await self.until_found(lambda event: isinstance(event, Up | Ended))
        assert isinstance(found, Up), found
        return found

    async def begin(self, text: str) -> int:
        """Give a prompt; return the number of events before it."""
        await self.up()
        self._prompts += 1
        before = len(self.events)
        await self.driven.prompt(AgentPrompt("it", str(self._prompts), text))
        return before

    async def over(self, before: int) -> TurnOver:
        return await self.until(TurnOver, after=before)

    async def say(self, text: str) -> list[Event]:
        """Give a prompt, and return the events of its whole turn."""
        before = await self.begin(text)
        await self.over(before)
        return self.events[before:]

    async def answer(self, asked: Asked, *, allow: bool, **more: Any) -> None:  # noqa: ANN401
        self.driven.answer(AgentAnswer("it", asked.request, allow=allow, **more))

    @property
    def questions(self) -> list[Asked]:
        """Return what a person was asked."""
        return [each for each in of(Asked, self.events) if each.basis == "person"]

    async def until_asked(self, number: int) -> Asked:
        """Wait until a person was asked so often, and return the last question."""
        await self.until_found(lambda _: len(self.questions) >= number)
        return self.questions[number - 1]

    async def ended(self) -> Ended:
        return await self.until(Ended)


def of(kind: type[_E], events: list[Event]) -> list[_E]:
    return [event for event in events if isinstance(event, kind)]
