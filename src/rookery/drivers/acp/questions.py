"""The questions of one ACP session that wait for an answer."""

from __future__ import annotations

import asyncio
from itertools import count

from msgspec.structs import replace

from rookery.drivers.acp.tools import AcpCall, NamedCall
from rookery.drivers.commands import AgentAnswer
from rookery.drivers.driver import DriverContext
from rookery.drivers.events import Asked, Basis
from rookery.model.permissions import Question


class TurnQuestions:
    """Asks Rookery while a turn runs; once it is over or cancelled, nothing is asked."""

    def __init__(self, context: DriverContext) -> None:
        self._context = context
        self._open: set[asyncio.Future[AgentAnswer]] = set()
        self._numbers = count(1)
        self._is_cancelled = True  #: no turn has begun

    def begin_turn(self) -> None:
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def withdraw(self) -> None:
        """End all questions of the turn without an answer."""
        self._is_cancelled = True
        for question in self._open:
            question.cancel()

    async def ask(
        self,
        use: NamedCall,
        call: AcpCall,
        *,
        basis: Basis = "person",
        method: str = "",
        questions: tuple[Question, ...] = (),
    ) -> AgentAnswer | None:
        """Return the answer; ``None`` if it is not wanted any more."""
        if self._is_cancelled:
            return None
        asked = replace(self._asked(use, call, basis, method), questions=questions)
        question = asyncio.ensure_future(self._context.ask(asked))
        self._open.add(question)
        return await self._answer(question)

    async def check(self, use: NamedCall, call: AcpCall, method: str) -> AgentAnswer | None:
        """Return whether no rule denies a call, which may also be made between two turns."""
        asked = self._asked(use, call, "granted", method)
        return await self._answer(asyncio.ensure_future(self._context.ask(asked)))

    def _asked(self, use: NamedCall, call: AcpCall, basis: Basis, method: str) -> Asked:
        number, given = f"acp-{next(self._numbers)}", dict(use.input)
        return Asked(number, use.tool, given, call.call_id, basis=basis, method=method)

    async def _answer(self, question: asyncio.Future[AgentAnswer]) -> AgentAnswer | None:
        try:
            await asyncio.wait({question})
            return None if question.cancelled() else question.result()
        finally:
            question.cancel()
            self._open.discard(question)
