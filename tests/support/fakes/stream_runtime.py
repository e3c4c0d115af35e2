from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from rookery.model.errors import NoTerminal, RuntimeFailed, WordsRefused
from rookery.model.facts import Fact, SessionId
from rookery.model.messages import Parcel
from rookery.model.permissions import Verdict
from rookery.model.sessions import program_name
from rookery.ports.agent import Agent
from rookery.ports.deliveries import Delivery, DeliveryLog, LeftInput, Submitted
from rookery.ports.runtime import (
    HeldProgram,
    Launch,
    RuntimeHandle,
    StopMethod,
    SurvivingProcess,
)
from rookery.ports.sightings import Exited, Reported, Sighting
from rookery.ports.terminal import Terminal
from tests.support.fakes.clock import FakeClock


class StreamRuntime:
    """Programs without a terminal: a stream carries words to them and reports their turns.

    They outlive the daemon; a handle is the id of a program's conversation.
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.heard: list[tuple[SessionId, str]] = []
        self.answered: list[tuple[SessionId, str, Verdict]] = []
        self.interrupted: list[SessionId] = []
        self.programs: dict[str, SessionId] = {}  #: by the id of their conversation
        self._held: set[SessionId] = set()
        self._receipts: dict[SessionId, str] = {}
        self._sightings: asyncio.Queue[Sighting] = asyncio.Queue()

    def tell(self, session: SessionId, *told: Fact) -> None:
        self._sightings.put_nowait(Reported(session, told))

    def begin_life(self) -> None:
        """Forget what a daemon that has died knew; the programs stay."""
        self._held = set()
        self._sightings = asyncio.Queue()

    async def start(self, launch: Launch) -> HeldProgram:
        name = program_name(launch.session)
        if name not in await self.find():
            self.programs[f"conversation {len(self.programs) + 1}"] = launch.session
        held = (await self.find())[name]
        await self.adopt(launch.session, launch.agent, held.handle)
        return held

    async def find(self) -> Mapping[str, HeldProgram]:
        return {
            program_name(session): HeldProgram(RuntimeHandle("stream", conversation))
            for conversation, session in self.programs.items()
        }

    async def adopt(
        self, session: SessionId, agent: Agent, program: RuntimeHandle | SurvivingProcess
    ) -> None:
        if isinstance(program, SurvivingProcess):
            raise RuntimeFailed("without its stream, nothing is left of it.")
        if program.runtime != "stream":
            raise RuntimeFailed(f"{program.text} is not a handle of 'stream'.")
        if program.reference not in self.programs:
            raise RuntimeFailed("it has gone meanwhile.")
        self._held.add(session)

    async def release(self, session: SessionId) -> None:
        self._held.discard(session)
        self.programs = {key: held for key, held in self.programs.items() if held != session}

    def holds(self, session: SessionId) -> bool:
        return session in self._held

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

    async def answer(self, session: SessionId, request: str, verdict: Verdict) -> None:
        self.answered.append((session, request, verdict))

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
