from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from rookery.model.errors import NoTerminal, RuntimeFailed, WordsRefused
from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Parcel
from rookery.model.sessions import tmux_name
from rookery.ports.agent import Agent
from rookery.ports.runtime import (
    Delivery,
    DeliveryLog,
    Exited,
    Launch,
    LeftInput,
    Place,
    Reported,
    Sighting,
    StopMethod,
    Submitted,
)
from rookery.ports.terminal import Terminal
from tests.support.fakes.clock import FakeClock


class StreamRuntime:
    """Programs without a terminal: a stream carries words to them and reports their turns."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.heard: list[tuple[SessionId, str]] = []
        self.interrupted: list[SessionId] = []
        self._held: dict[SessionId, Place] = {}
        self._receipts: dict[SessionId, str] = {}
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()

    def tell(self, session: SessionId, *told: Fact) -> None:
        self._sightings.put_nowait(Reported(session, told))

    async def start(self, launch: Launch) -> Place:
        place = Place(tmux_name(launch.session), "", 1000 + len(self._held))
        await self.adopt(launch.session, launch.agent, place)
        return place

    async def find(self) -> Mapping[str, Place]:
        return {tmux_name(session): place for session, place in self._held.items()}

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        self._held.setdefault(session, place)

    async def release(self, session: SessionId) -> None:
        self._held.pop(session, None)

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    def check(self, session: SessionId, words: str) -> None:
        self._require(session)
        if not words:
            raise WordsRefused("there are none.")

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        self._require(parcel.recipient)
        if self._receipts.get(parcel.recipient) == parcel.receipt:
            return LeftInput()
        await log.note_typed()
        self._receipts[parcel.recipient] = parcel.receipt
        self.heard.append((parcel.recipient, parcel.words))
        return Submitted(self.clock.now())

    async def interrupt(self, session: SessionId) -> None:
        self._require(session)
        self.interrupted.append(session)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        self._require(session)
        self._sightings.put_nowait(Exited(session, 0, None, ()))

    def terminal(self, session: SessionId) -> Terminal:
        self._require(session)
        raise NoTerminal(f"{session} is spoken to by a stream.")

    def _require(self, session: SessionId) -> None:
        if session not in self._held:
            raise RuntimeFailed(f"no pane is known for {session}.")
