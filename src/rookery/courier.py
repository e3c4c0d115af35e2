"""Carries words to sessions. The only place where they leave the daemon.

Never twice; rather unsure than twice. Each step is on disk before the next is
taken, and what a crash left half done is looked at, never pasted again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import assert_never

from rookery.model.errors import Forbidden
from rookery.model.facts import (
    CommandTaken,
    DeliveryDoubted,
    DeliveryWaited,
    SessionId,
    TurnEnded,
    TurnStarted,
)
from rookery.model.lifecycle import Activity
from rookery.model.messages import Parcel, Step
from rookery.model.sessions import Session
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.runtime import Blocked, Left, Refused, Runtime, Submitted, Unknown
from rookery.project_files import require_own_command
from rookery.store import messages, observed, sessions, switches, waits
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler

_log = logging.getLogger(__name__)

#: Seconds an agent gets to say that it has the words: its hook takes 0.1 s, a spooled one more.
PATIENCE = 10.0

#: Seconds for it to say so of a command, which is no prompt to most.
COMMAND = 3.0

#: Seconds before a runtime that failed, or a box that was not free, is tried again.
PAUSE = 1.0

#: Seconds after its start for an agent to ask for our tools, before it gets words without.
TOOLS_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Courier:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]

    async def deliver(self) -> None:
        """Serve the sessions that are owed words."""
        await Reconciler(
            name="Delivering messages",
            clock=self._clock,
            pending=partial(self.database.read, messages.owed),
            step=self._take_a_step,
            changed=self.database.bells.of_work,
        ).run()

    async def _take_a_step(self, session: SessionId) -> bool:
        """Do the next thing for ``session``. False if there is nothing to do now."""
        now = await self.database.peek(partial(_read_present, session=session))
        if now.is_holding or not now.has_work:
            return False  # while held, what stands in a box stays there, too
        if now.parcel is None:
            return await self._begin(now.session)
        await self._go_on(now.parcel, self.agents[now.session.agent], is_new=False)
        return True

    async def _begin(self, session: Session) -> bool:
        """Take up what waits for an idle session. False if nothing does."""
        agent = self.agents[session.agent]
        if agent.abilities.lists_tools and await self._wait_for_tools(session):
            return True  # words may be held by now
        # Two lines are two commands to a plain program, and each has an answer of its own.
        alone, now = agent.screen is None, self._clock.now()
        take_up = partial(messages.take_up, recipient=session.id, at=now, alone=alone)
        parcel = await self.database.write(take_up)
        if parcel is None:
            return False
        try:
            await self._check_command(session, parcel)
        except Forbidden as forbidden:
            await self._fail(parcel, str(forbidden))
        else:
            await self._go_on(parcel, agent, is_new=True)
        return True

    async def _go_on(self, parcel: Parcel, agent: Agent, *, is_new: bool) -> None:
        """Have the runtime bring a parcel on, and write down what became of it."""
        log = _Log(self.database, parcel)
        delivery = await self.runtime.deliver(parcel, log, is_new=is_new)
        match delivery:
            case Submitted(at, is_final):
                await self._confirm(parcel, agent, entered_at=at)
                await self._wait_for_proof(parcel, is_last=is_final)
            case Left():
                await self._wait_for_proof(parcel, is_last=True)
            case Blocked(reason, is_typed):
                await self._note_blocked(parcel, reason, is_typed=is_typed)
            case Refused(reason, is_in_input=True):
                await self.database.write(
                    partial(messages.refuse, parcel=parcel, reason=reason)
                )
            case Refused(reason):
                await self._fail(parcel, reason)
            case Unknown():
                await self._doubt(parcel)
            case _:
                assert_never(delivery)

    async def _check_command(self, session: Session, parcel: Parcel) -> None:
        """Refuse a session's command that the project defines by now. Raises ``Forbidden``."""
        is_by_session = partial(messages.is_by_session, parcel=parcel)
        if parcel.is_command and await self.database.read(is_by_session):
            await require_own_command(session, parcel.words)

    async def _wait_for_tools(self, session: Session) -> bool:
        """Let a session that has just come up connect to our tools. False if it need not."""

        def has_tools(db: Connection) -> bool:
            return not sessions.awaits_tools(db, session.id)

        now = self._clock.now()
        left = TOOLS_TIMEOUT_S - (now - (session.started_at or now)).total_seconds()
        if left <= 0 or await self.database.read(has_tools):
            return False
        reason = "its tools are not connected yet."
        explain = partial(messages.explain, recipient=session.id, reason=reason)
        await self.database.write(explain)
        await waits.until(self.database, has_tools, seconds=left, clock=self._clock)
        return True

    async def _wait_for_proof(self, parcel: Parcel, *, is_last: bool) -> None:
        """Wait for the agent to say that it has the words; after the last wait, doubt it."""
        if await self._is_settled_in_time(parcel) or not is_last:
            return
        if parcel.is_command:
            # Most are no prompts: that they are gone from the box is all there is to see.
            await self._note_command(parcel)
        else:
            await self._doubt(parcel)

    async def _confirm(self, parcel: Parcel, agent: Agent, *, entered_at: datetime) -> None:
        """Note that Enter was pressed: all the proof there is, where an agent tells nothing."""

        def confirm(db: Connection) -> None:
            moved = messages.move(db, parcel, Step.SUBMITTED)
            now = sessions.get(db, parcel.recipient)
            if moved and not (agent.hooks and observed.tells_turns(db, now, agent.abilities)):
                self.journal.append(db, TurnStarted(parcel.recipient, parcel.words))
                if observed.has_rested(db, now.id, since=entered_at):
                    # So short a turn that its end was told before we came to its beginning.
                    self.journal.append(db, TurnEnded(parcel.recipient))

        await self.database.write(confirm)

    async def _is_settled_in_time(self, parcel: Parcel) -> bool:
        def is_settled(db: Connection) -> bool:
            now = messages.under_way(db, parcel.recipient)
            return now is None or now.id != parcel.id

        return await waits.until(
            self.database,
            is_settled,
            seconds=COMMAND if parcel.is_command else PATIENCE,
            clock=self._clock,
            sessions=(parcel.recipient,),
        )

    async def _note_blocked(self, parcel: Parcel, reason: str, *, is_typed: bool) -> None:
        note = messages.delay if is_typed else messages.put_back

        def write(db: Connection) -> None:
            if note(db, parcel, reason=reason) and reason:
                self.journal.append(db, DeliveryWaited(parcel.recipient, reason))

        if reason or not is_typed:
            await self.database.write(write)
        if reason:
            await self._clock.sleep(PAUSE)

    async def _fail(self, parcel: Parcel, reason: str) -> None:
        def fail(db: Connection) -> None:
            if messages.fail(db, parcel, reason=reason):
                self.journal.append(db, DeliveryWaited(parcel.recipient, reason))

        await self.database.write(fail)

    async def _note_command(self, parcel: Parcel) -> None:
        taken = CommandTaken(parcel.recipient, parcel.id)
        await self.database.write(lambda db: self.journal.append(db, taken))

    async def _doubt(self, parcel: Parcel) -> None:
        def doubt(db: Connection) -> None:
            if messages.move(db, parcel, Step.UNSURE):
                self.journal.append(db, DeliveryDoubted(parcel.recipient, parcel.id))

        await self.database.write(doubt)

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


@dataclass(frozen=True, slots=True)
class _Log:
    """What a runtime writes down and looks up while it delivers a parcel."""

    database: Database
    parcel: Parcel

    async def note_typed(self) -> None:
        note = partial(messages.move, parcel=self.parcel, step=Step.PASTED)
        await self.database.write(note)

    async def may_submit(self) -> bool:
        return not await self.database.peek(switches.is_holding)

    async def previous(self) -> Parcel | None:
        last = partial(messages.last_typed, recipient=self.parcel.recipient)
        return await self.database.read(last)


@dataclass(frozen=True, slots=True)
class _Present:
    """What the next step for a session depends on."""

    is_holding: bool
    session: Session
    parcel: Parcel | None  #: that has left, and is not proved to have arrived
    has_pending: bool

    @property
    def has_work(self) -> bool:
        is_free = self.session.activity is Activity.IDLE
        return self.parcel is not None or (is_free and self.has_pending)


def _read_present(db: Connection, session: SessionId) -> _Present:
    return _Present(
        is_holding=switches.is_holding(db),
        session=sessions.get(db, session),
        parcel=messages.under_way(db, session),
        has_pending=messages.has_pending(db, session),
    )
