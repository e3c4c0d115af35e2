"""Several runtimes that look like one: each call goes to whoever holds the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import anyio

from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.screens import Press, View
from rookery.ports.agent import Agent
from rookery.ports.runtime import Launch, Place, Printed, Runtime, Sight, Sighting, Waitable


class Holder(Runtime, Protocol):
    def holds(self, session: SessionId) -> bool: ...


class Several:
    """What no other runtime holds is the first one's; it alone starts and finds sessions."""

    def __init__(self, first: Runtime, *others: Holder) -> None:
        self._first = first
        self._others = others
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()

    async def keep(self) -> None:
        """Gather what they all see. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            for each in (self._first, *self._others):
                tasks.start_soon(self._gather, each)

    async def _gather(self, runtime: Runtime) -> None:
        async for sighting in runtime.watch():
            self._sightings.put_nowait(sighting)

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    def see_again(self, sighting: Sighting) -> None:
        self._of(sighting.session).see_again(sighting)

    async def start(self, launch: Launch) -> Place:
        return await self._first.start(launch)

    async def find(self) -> Mapping[str, Place]:
        return await self._first.find()

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        await self._first.adopt(session, agent, place)

    async def paste(self, parcel: Parcel) -> None:
        await self._of(parcel.recipient).paste(parcel)

    async def submit(self, parcel: Parcel) -> None:
        await self._of(parcel.recipient).submit(parcel)

    async def clear(self, parcel: Parcel) -> bool:
        return await self._of(parcel.recipient).clear(parcel)

    async def look(self, parcel: Parcel) -> Sight:
        return await self._of(parcel.recipient).look(parcel)

    async def shown(self, parcel: Parcel, *, within: float) -> bool:
        return await self._of(parcel.recipient).shown(parcel, within=within)

    def check(self, session: SessionId, words: str) -> None:
        self._of(session).check(session, words)

    def next_change(self, session: SessionId) -> Waitable:
        return self._of(session).next_change(session)

    def attend(self, session: SessionId, *, to_screen: bool) -> None:
        self._of(session).attend(session, to_screen=to_screen)

    async def press(self, session: SessionId, *keys: str) -> None:
        await self._of(session).press(session, *keys)

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        await self._of(session).give(session, press, receipt=receipt)

    async def given(self, session: SessionId) -> str:
        return await self._of(session).given(session)

    def check_keys(self, *keys: str) -> None:
        self._first.check_keys(*keys)

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        holders = (each.holder_of(lineage) for each in (self._first, *self._others))
        return next(filter(None, holders), None)

    def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        return self._of(session).screens(session)

    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        return await self._of(session).read(session, history=history)

    async def view(self, session: SessionId) -> View:
        return await self._of(session).view(session)

    async def printed(self, session: SessionId) -> Printed:
        return await self._of(session).printed(session)

    async def is_attached(self, session: SessionId) -> bool:
        return await self._of(session).is_attached(session)

    async def quit(self, session: SessionId) -> None:
        await self._of(session).quit(session)

    async def signal(self, session: SessionId, number: int) -> None:
        await self._of(session).signal(session, number)

    async def release(self, session: SessionId) -> None:
        await self._of(session).release(session)

    def _of(self, session: SessionId) -> Runtime:
        return next((each for each in self._others if each.holds(session)), self._first)
