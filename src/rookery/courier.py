"""Carries words to sessions. The only place where they leave the daemon.

Never twice; rather unsure than twice. Each step is on disk before the next is
taken, and what a crash left half done is looked at, never pasted again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import assert_never

from rookery.model.errors import Forbidden, Occupied, WordsRefused
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
from rookery.ports.runtime import FellQuiet, Runtime, Sight
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

#: Seconds after which words that were typed and never showed are given up: a program may
#: stand still for long, and then goes on where it was.
LOST = 600.0

#: Seconds after its start for an agent to ask for our tools, before it gets words without.
TOOLS_TIMEOUT_S = 15.0

#: Seconds for pasted words to appear in the box.
APPEARANCE = 2.0


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
            return await self._paste(now.session)
        if now.parcel.refused:
            await self._take_back(now.parcel)
        else:
            await self._see_through(now.parcel, self.agents[now.session.agent])
        return True

    async def _paste(self, session: Session) -> bool:
        agent = self.agents[session.agent]
        if agent.lists_tools and await self._wait_for_tools(session):
            return True  # words may be held by now
        # Two lines are two commands to a plain program, and each has an answer of its own.
        alone, now = not agent.has_box, self._clock.now()
        take_up = partial(messages.take_up, recipient=session.id, at=now, alone=alone)
        parcel = await self.database.write(take_up)
        if parcel is None:
            return False
        try:
            await self._check_command(session, parcel)
            await self.runtime.paste(parcel)
        except Occupied as occupied:
            if await self._clear_last(session.id):
                await self.database.write(partial(messages.put_back, parcel=parcel, reason=""))
            else:
                await self._put_back(parcel, str(occupied))
        except (WordsRefused, Forbidden) as refused:
            await self._fail(parcel, str(refused))
        else:
            await self._move(parcel, Step.PASTED)
            if await self.runtime.shown(parcel, within=APPEARANCE):
                await self._clock.sleep(agent.pause)
                await self._submit_and_wait(replace(parcel, step=Step.PASTED), agent)
        return True

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

    async def _clear_last(self, session: SessionId) -> bool:
        """Empty the box if the last words are back in it, as after an early interrupt."""
        last = await self.database.read(partial(messages.last_typed, recipient=session))
        if last is None:
            return False
        try:
            return await self.runtime.clear(last)
        except Occupied:
            return False

    async def _take_back(self, parcel: Parcel) -> None:
        """Take refused words out of the box, then fail them: the next ones need it empty."""
        try:
            await self.runtime.clear(parcel)
            stands_there = await self.runtime.look(parcel) is Sight.BOX
        except Occupied as occupied:
            await self._wait(parcel, str(occupied))
            return
        waited = (self._clock.now() - parcel.since).total_seconds()
        if stands_there and waited < LOST:
            await self._wait(parcel, "its box still shows words that it refused.")
        else:
            await self._fail(parcel, parcel.refused)

    async def _see_through(self, parcel: Parcel, agent: Agent) -> None:  # noqa: C901 - a table
        """Bring a parcel on by a step: Enter may be pressed again, words never pasted."""
        sight = await self.runtime.look(parcel)
        match sight:
            case Sight.UNTOUCHED if parcel.step is Step.SENDING:
                await self.database.write(partial(messages.put_back, parcel=parcel, reason=""))
            case Sight.UNTOUCHED:
                await self._doubt(parcel)  # they were typed, and the trace of it is lost
            case Sight.LATE:
                await self._wait_for_a_slow_one(parcel)
            case Sight.HIDDEN if parcel.is_command and parcel.step is Step.SUBMITTED:
                await self._note_command(parcel)  # it has opened something of its own
            case Sight.HIDDEN:
                await self._wait(parcel, "something else is on its screen.")
            case Sight.BOX:
                await self._submit_and_wait(parcel, agent)
            case Sight.AGENT:
                await self._confirm(parcel, agent, entered_at=parcel.since)
                # It may have fallen quiet before anybody knew that it had something to do.
                self.runtime.see_again(FellQuiet(parcel.recipient))
                await self._expect_proof(parcel)
            case Sight.NOWHERE:
                await self._expect_proof(parcel)
            case _:
                assert_never(sight)

    async def _expect_proof(self, parcel: Parcel) -> None:
        if await self._is_settled_in_time(parcel):
            return
        if parcel.is_command:
            # Most are no prompts: that they are gone from the box is all there is to see.
            await self._note_command(parcel)
        else:
            await self._doubt(parcel)

    async def _wait_for_a_slow_one(self, parcel: Parcel) -> None:
        """Let a busy program show what was typed; or it, or somebody, has taken them out."""
        waited = (self._clock.now() - parcel.since).total_seconds()
        if waited > LOST:
            await self._doubt(parcel)
        elif not await self.runtime.shown(parcel, within=APPEARANCE):
            await self._wait(parcel, "its box does not show them yet.")

    async def _submit_and_wait(self, parcel: Parcel, agent: Agent) -> None:
        """Press Enter, and wait for the proof that the agent has the words."""
        if await self._submit(parcel, agent):
            await self._is_settled_in_time(parcel)

    async def _submit(self, parcel: Parcel, agent: Agent) -> bool:
        if parcel.step is Step.SENDING:
            await self._move(parcel, Step.PASTED)
        if await self.database.peek(switches.is_holding):
            return False  # since it was looked for
        entered_at = self._clock.now()
        try:
            await self.runtime.submit(parcel)
        except Occupied as occupied:
            await self._wait(parcel, str(occupied))
            return False
        except WordsRefused as refused:
            reason = " ".join(map(str, refused.args))
            await self.database.write(partial(messages.refuse, parcel=parcel, reason=reason))
            return False
        await self._confirm(parcel, agent, entered_at=entered_at)
        return True

    async def _confirm(self, parcel: Parcel, agent: Agent, *, entered_at: datetime) -> None:
        """Note that Enter was pressed: all the proof there is, where an agent tells nothing."""

        def confirm(db: Connection) -> None:
            moved = messages.move(db, parcel, Step.SUBMITTED)
            now = sessions.get(db, parcel.recipient)
            if moved and not (agent.has_hooks and observed.tells_turns(db, now)):
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

    async def _move(self, parcel: Parcel, step: Step) -> None:
        await self.database.write(partial(messages.move, parcel=parcel, step=step))

    async def _put_back(self, parcel: Parcel, reason: str) -> None:
        def put_back(db: Connection) -> None:
            if messages.put_back(db, parcel, reason=reason):
                self.journal.append(db, DeliveryWaited(parcel.recipient, reason))

        await self.database.write(put_back)
        await self._clock.sleep(PAUSE)

    async def _wait(self, parcel: Parcel, reason: str) -> None:
        def wait(db: Connection) -> None:
            if messages.delay(db, parcel, reason=reason):
                self.journal.append(db, DeliveryWaited(parcel.recipient, reason))

        await self.database.write(wait)
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
