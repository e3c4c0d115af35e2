"""Passes each call to the runtime that holds the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import anyio

from rookery.model.errors import RuntimeFailed
from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.ports.agent import Agent
from rookery.ports.deliveries import Delivery, DeliveryLog
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    Runtime,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import Sighting
from rookery.ports.terminal import Terminal
from rookery.runtimes.driven.runtime import NAME as DRIVEN_RUNTIME


class HoldingRuntime(Runtime, Protocol):
    """A runtime that knows which sessions it holds."""

    def holds(self, session: SessionId) -> bool: ...


class RuntimeRouter:
    """One runtime in front of several.

    The one named ``starting`` starts and finds sessions in terminals, the driver host others.
    """

    def __init__(self, runtimes: Mapping[str, HoldingRuntime], *, starting: str) -> None:
        self._runtimes = runtimes
        self._starting = runtimes[starting]
        # Of length one: a runtime can combine what it sees while the reader is busy.
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue(1)

    def of(self, session: SessionId) -> Runtime:
        """Return the runtime that holds a session; the starting one if none does."""
        holding = (each for each in self._runtimes.values() if each.holds(session))
        return next(holding, self._starting)

    async def keep(self) -> None:
        """Collect the sightings of all runtimes. Runs for ever."""
        async with anyio.create_task_group() as tasks:
            for each in self._runtimes.values():
                tasks.start_soon(self._gather, each)

    async def _gather(self, runtime: Runtime) -> None:
        async for sighting in runtime.watch():
            await self._sightings.put(sighting)

    async def watch(self) -> AsyncIterator[Sighting]:
        while True:
            yield await self._sightings.get()

    async def start(self, launch: Launch) -> HeldProgram:
        driven = self._runtimes.get(DRIVEN_RUNTIME)
        return await (driven if launch.driver and driven else self._starting).start(launch)

    async def find(self) -> Mapping[str, HeldProgram]:
        driven = self._runtimes.get(DRIVEN_RUNTIME)
        return {**await self._starting.find(), **(await driven.find() if driven else {})}

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        await self._maker_of(program).adopt(session, agent, program)

    def _maker_of(self, program: RuntimeHandle | SurvivingProcess) -> Runtime:
        if isinstance(program, SurvivingProcess):
            return self._starting
        if (runtime := self._runtimes.get(program.runtime)) is None:
            known = ", ".join(sorted(self._runtimes))
            raise RuntimeFailed(
                f"there is no runtime {program.runtime!r} for {program.text}, only {known}."
            )
        return runtime

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
