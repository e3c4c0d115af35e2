"""Passes each call to the runtime that holds the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import anyio

from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.ports.agent import Agent
from rookery.ports.runtime import (
    Delivery,
    DeliveryLog,
    Launch,
    Place,
    Runtime,
    Sighting,
    StopMethod,
)
from rookery.ports.terminal import Terminal


class HoldingRuntime(Runtime, Protocol):
    """A runtime that says which sessions it holds."""

    def holds(self, session: SessionId) -> bool: ...


class RuntimeRouter:
    """One runtime in front of several. Only ``starting`` starts and finds sessions."""

    def __init__(self, *others: HoldingRuntime, starting: Runtime) -> None:
        self._starting = starting
        self._others = others
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()

    def of(self, session: SessionId) -> Runtime:
        """Return the runtime that holds a session; the starting one if no other does."""
        return next((each for each in self._others if each.holds(session)), self._starting)

    async def keep(self) -> None:
        """Collect the sightings of all runtimes. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            for each in (self._starting, *self._others):
                tasks.start_soon(self._gather, each)

    async def _gather(self, runtime: Runtime) -> None:
        async for sighting in runtime.watch():
            self._sightings.put_nowait(sighting)

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    async def start(self, launch: Launch) -> Place:
        return await self._starting.start(launch)

    async def find(self) -> Mapping[str, Place]:
        return await self._starting.find()

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        await self._starting.adopt(session, agent, place)

    async def release(self, session: SessionId) -> None:
        await self.of(session).release(session)

    def check(self, session: SessionId, words: str) -> None:
        self.of(session).check(session, words)

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        return await self.of(parcel.recipient).deliver(parcel, log, is_new=is_new)

    async def interrupt(self, session: SessionId) -> None:
        await self.of(session).interrupt(session)

    async def stop(self, session: SessionId, method: StopMethod) -> None:
        await self.of(session).stop(session, method)

    def terminal(self, session: SessionId) -> Terminal:
        return self.of(session).terminal(session)
