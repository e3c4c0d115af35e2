"""Wait for the answers to requests on behalf of hook programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection

from rookery.hook_protocol import Hook
from rookery.model.permissions import RequestId, Verdict
from rookery.permissions import lost_hooks
from rookery.permissions.decisions import Permissions
from rookery.permissions.stop_policy import StopPolicy, reason_to_go_on
from rookery.ports.agent import Agent
from rookery.store import dialogs, requests, sessions
from rookery.store.database import Database
from rookery.tracking.hook_reader import dialect_of


@dataclass(frozen=True, slots=True)
class HookAnswers:
    database: Database
    agents: Mapping[str, Agent]
    permissions: Permissions
    stops: StopPolicy

    async def wait(self, hook: Hook, request: RequestId) -> str:
        """Return the answer for a hook once its request is answered."""
        verdict, hooks = await self._verdict(request), dialect_of(self.agents, hook)
        if verdict is None:
            return hooks.answer(hook.payload, None)
        if (stop := hooks.read_stop(hook.payload)) is None:
            return hooks.answer(hook.payload, verdict)

        def conclude(db: Connection) -> None:
            # Only once: a hook program comes again if the daemon dies before it answers.
            if self.permissions.note_delivered(db, request):
                session = sessions.get(db, requests.get(db, request).session)
                self.stops.conclude(db, session, stop.words, verdict)

        await self.database.write(conclude)
        reason = reason_to_go_on(verdict)
        return hooks.go_on(hook.payload, reason) if reason else ""

    async def _verdict(self, request: RequestId) -> Verdict | None:
        """Wait for the answer to a request; None if its agent's own dialog takes over."""
        while True:
            bell = self.database.bell()
            if await self.database.read(partial(dialogs.is_handed, request=request)):
                return None
            if verdict := await self.database.read(
                partial(requests.verdict_of, request=request)
            ):
                return verdict
            await bell.wait()

    async def withdraw(self, request: RequestId) -> None:
        """Record that the hook call which waited for an answer is gone."""

        def withdraw(db: Connection) -> None:
            lost_hooks.hang_up(db, self.permissions, request)

        await self.database.write(withdraw)

    async def note_told(self, request: RequestId) -> None:
        """Record that a hook program got the answer that it waited for."""
        await self.database.write(partial(self.permissions.note_delivered, request=request))
