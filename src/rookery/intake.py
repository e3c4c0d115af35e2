"""Where the world comes in: hooks become facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from sqlite3 import Connection
from uuid import uuid4

from rookery import endings
from rookery.model.errors import HookUnreadable
from rookery.model.facts import Fact, SessionEnded, SessionId, ToolUsed
from rookery.model.names import distinct, name_from
from rookery.model.permissions import RequestId, Verdict
from rookery.model.sessions import HEADLESS, TMUX, Badge, Sender, Session, Spot
from rookery.permissions import Pass, Permissions, Ruling, Wait
from rookery.ports import Agent, Payload
from rookery.store import requests, sessions, tokens
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.store.sessions import TakenNames


@dataclass(frozen=True, slots=True)
class Hook:
    """One call of an agent's hook, as it came through the door."""

    key: str  #: made by the hook program; a spooled hook comes again under the same one
    agent: str
    badge: Badge | None
    payload: Payload
    #: The process that made the call, as the kernel knows it; none if it waited in the spool,
    #: and so nobody waits for what we say.
    pid: int | None = None
    pane: Spot | None = None  #: where it says that it runs


def read_call(call: bytes, *, pid: int | None = None) -> Hook:
    """Read what the hook program sent. Raises ``HookUnreadable``."""
    first, _, body = call.partition(b"\n")
    try:
        words = first.decode(errors="surrogateescape").split(" ", 6)
        key, agent, _size, badge, pane, _parent, server = words
        payload = _speakable(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise HookUnreadable(error) from error
    if not isinstance(payload, dict):
        raise HookUnreadable("it is no JSON object")
    return Hook(
        key,
        agent,
        None if badge == "-" else Badge(badge),
        payload,
        pid=pid,
        pane=None if "-" in {pane, server} else Spot(server, pane),
    )


def _speakable(payload: object) -> object:
    """Replace halves of characters, which JSON can spell and no file can hold."""
    text = json.dumps(payload, ensure_ascii=False)
    return json.loads(text.encode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Intake:
    database: Database
    journal: Journal
    agents: Mapping[str, Agent]
    permissions: Permissions

    async def receive(self, hook: Hook) -> Ruling:
        """Write down what one hook call tells us, and say what its agent is to be told.

        Returns once it is committed: a hook that was answered is never lost, and one
        that was not may come again.
        """
        agent = self.agent(hook)
        sender = agent.identify(hook.payload)

        def take_in(db: Connection) -> Ruling:
            if not self._is_new(db, hook.key):
                asked = requests.of_hook(db, hook.key)
                return Wait(asked.id) if asked else Pass()
            session = self._resolve(db, sender, hook.badge)
            if not tokens.is_worn(db, session, hook.badge):
                raise HookUnreadable(f"it does not wear the badge of {session}")
            for fact in agent.read_hook(hook.payload, session):
                self._write(db, fact)
            return self._consider(db, agent, hook, session)

        return await self.database.write(take_in)

    def agent(self, hook: Hook) -> Agent:
        """Return the dialect that a hook speaks. Raises ``HookUnreadable``."""
        if (agent := self.agents.get(hook.agent)) is None:
            raise HookUnreadable(f"no agent is called {hook.agent!r}")
        return agent

    def _consider(
        self, db: Connection, agent: Agent, hook: Hook, session_id: SessionId
    ) -> Ruling:
        """Decide what the hook wants decided, if anything."""
        if (call := agent.read_call(hook.payload)) is None:
            return Pass()
        session = sessions.get(db, session_id)
        if session.status.is_over:
            return Pass()
        if hook.pid is None:
            return self.permissions.note(db, session, call)
        return self.permissions.consider(
            db, session, call, hook=hook.key, can_ask=agent.asks_when_told
        )

    async def verdict(self, request: RequestId) -> Verdict:
        """Wait for the answer to a request; there is one at the latest at its deadline."""
        while True:
            bell = self.database.bell()
            if verdict := await self.database.read(
                partial(requests.verdict_of, request=request)
            ):
                return verdict
            await bell.wait()

    async def withdraw(self, request: RequestId) -> None:
        """Let go of what nobody waits for any more."""

        def withdraw(db: Connection) -> None:
            self.permissions.withdraw(db, request)

        await self.database.write(withdraw)

    async def park(self, key: str, error: Exception) -> None:
        """Keep the trace of a call that nothing can be made of."""

        def park(db: Connection) -> None:
            db.execute(
                "insert into hooks (key, at, error) values (?, ?, ?) on conflict do nothing",
                (key[:100], self.journal.clock.now().isoformat(), str(error)[:1000]),
            )

        await self.database.write(park)

    def _is_new(self, db: Connection, key: str) -> bool:
        added = db.execute(
            "insert into hooks (key, at) values (?, ?) on conflict do nothing",
            (key, self.journal.clock.now().isoformat()),
        )
        return added.rowcount == 1

    def _write(self, db: Connection, fact: Fact) -> None:
        if not isinstance(fact, SessionEnded):
            self.journal.append(db, fact)
            if isinstance(fact, ToolUsed):
                self.permissions.note_use(db, fact)
        elif sessions.get(db, fact.session).runtime != TMUX:
            # Of what we hold, the program's own end tells, and it tells how.
            endings.end(
                db, self.journal, fact.session, outcome=fact.outcome, reason=fact.reason
            )

    def _resolve(self, db: Connection, sender: Sender, badge: Badge | None) -> SessionId:
        """Find whose hook it is. Who is unknown is made known, never dropped."""
        return (
            sessions.known(db, sender)
            or (badge and sessions.bind(db, badge, sender))
            or (badge and sessions.late(db, badge, sender))
            or self._register(db, sender)
        )

    def _register(self, db: Connection, sender: Sender) -> SessionId:
        now = self.journal.clock.now()
        folder = PurePath(sender.cwd).name
        session = Session(
            id=SessionId(str(uuid4())),
            name=distinct(name_from(folder), TakenNames(db)),
            agent=sender.agent,
            runtime=HEADLESS,
            computer=self.journal.computer,
            title=folder,
            label=sender.native_id[:12],
            native_id=sender.native_id,
            project_path=sender.cwd,
            origin="hook",
            last_input_origin="hook",
            since=now,
            created_at=now,
            last_activity_at=now,
        )
        sessions.add(db, session)
        return session.id
