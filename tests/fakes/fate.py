from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from rookery.model.facts import SessionId
from rookery.model.messages import Parcel
from rookery.model.screens import Press, View
from rookery.ports.agent import Agent
from rookery.ports.runtime import Launch, Place, Printed, Runtime, Sight, Sighting, Waitable


class Killed(BaseException):
    """Not an error: nothing may catch it and go on."""


class Fate:
    """Counts the moments at which one can die, and kills at one of them."""

    def __init__(self, die_at: int | None = None) -> None:
        self.moments = 0
        self._die_at = die_at
        self._dead = False

    def moment(self) -> None:
        self._dead = self._dead or self.moments == self._die_at
        self.moments += 1
        self.mourn()

    def mourn(self) -> None:
        """Stop what would go on, not having noticed that it is dead."""
        if self._dead:
            raise Killed


class MortalRuntime:
    """Another runtime, with a moment to die before and after each call that acts or looks."""

    def __init__(self, runtime: Runtime, fate: Fate) -> None:
        self._runtime = runtime
        self._fate = fate

    async def start(self, launch: Launch) -> Place:
        self._fate.moment()
        place = await self._runtime.start(launch)
        self._fate.moment()
        return place

    async def find(self) -> Mapping[str, Place]:
        self._fate.moment()
        found = await self._runtime.find()
        self._fate.moment()
        return found

    async def adopt(self, session: SessionId, agent: Agent, place: Place) -> None:
        self._fate.moment()
        await self._runtime.adopt(session, agent, place)
        self._fate.moment()

    async def paste(self, parcel: Parcel) -> None:
        self._fate.moment()
        await self._runtime.paste(parcel)
        self._fate.moment()

    async def submit(self, parcel: Parcel) -> None:
        self._fate.moment()
        await self._runtime.submit(parcel)
        self._fate.moment()

    async def clear(self, parcel: Parcel) -> bool:
        self._fate.moment()
        cleared = await self._runtime.clear(parcel)
        self._fate.moment()
        return cleared

    async def look(self, parcel: Parcel) -> Sight:
        self._fate.moment()
        sight = await self._runtime.look(parcel)
        self._fate.moment()
        return sight

    async def read(self, session: SessionId, *, history: bool = False) -> tuple[str, ...]:
        self._fate.moment()
        lines = await self._runtime.read(session, history=history)
        self._fate.moment()
        return lines

    async def quit(self, session: SessionId) -> None:
        self._fate.moment()
        await self._runtime.quit(session)
        self._fate.moment()

    async def signal(self, session: SessionId, number: int) -> None:
        self._fate.moment()
        await self._runtime.signal(session, number)
        self._fate.moment()

    async def release(self, session: SessionId) -> None:
        self._fate.moment()
        await self._runtime.release(session)
        self._fate.moment()

    async def press(self, session: SessionId, *keys: str) -> None:
        await self._runtime.press(session, *keys)

    async def give(self, session: SessionId, press: Press, *, receipt: str) -> None:
        await self._runtime.give(session, press, receipt=receipt)

    async def given(self, session: SessionId) -> str:
        return await self._runtime.given(session)

    async def shown(self, parcel: Parcel, *, within: float) -> bool:
        return await self._runtime.shown(parcel, within=within)

    async def view(self, session: SessionId) -> View:
        return await self._runtime.view(session)

    async def printed(self, session: SessionId) -> Printed:
        return await self._runtime.printed(session)

    async def is_attached(self, session: SessionId) -> bool:
        return await self._runtime.is_attached(session)

    def check_keys(self, *keys: str) -> None:
        self._runtime.check_keys(*keys)

    def holder_of(self, lineage: Sequence[str]) -> SessionId | None:
        return self._runtime.holder_of(lineage)

    def screens(self, session: SessionId) -> AsyncIterator[tuple[str, ...]]:
        return self._runtime.screens(session)

    def check(self, session: SessionId, words: str) -> None:
        self._runtime.check(session, words)

    def next_change(self, session: SessionId) -> Waitable:
        return self._runtime.next_change(session)

    def attend(self, session: SessionId, *, to_screen: bool) -> None:
        self._runtime.attend(session, to_screen=to_screen)

    def watch(self) -> AsyncIterator[Sighting]:
        return self._runtime.watch()

    def see_again(self, sighting: Sighting) -> None:
        self._runtime.see_again(sighting)
