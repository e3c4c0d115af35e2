"""Delivers messages to sessions; only this module sends them out of the daemon.

A message is never delivered twice: one whose arrival is in doubt becomes unsure. Each step is
on disk before the next one, and after a crash the pane is checked before anything is typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from sqlite3 import Connection
from typing import assert_never

from rookery.delivery.current_delivery import read_state
from rookery.delivery.interrupts import TurnInterrupts
from rookery.model import beliefs
from rookery.model.errors import Forbidden
from rookery.model.facts import (
    CommandTaken,
    DeliveryDoubted,
    DeliveryWaited,
    SessionId,
    TurnEnded,
    TurnStarted,
)
from rookery.model.messages import Parcel, Step, Way
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import Session
from rookery.permissions.project_files import require_own_command
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Blocked, Carrier, LeftInput, Refused, Submitted, Unknown
from rookery.ports.runtime import Runtime
from rookery.store import evidence, flags, message_batches, messages, sessions, wait_for_change
from rookery.store.database import Database
from rookery.store.journal import Journal
from rookery.supervise import Reconciler

#: Seconds for an agent to acknowledge a message. A hook takes 0.1 s, a spooled call longer.
PROMPT_PROOF_SECONDS = 10.0

#: Seconds for it to acknowledge a command, which most agents do not treat as a prompt.
COMMAND_PROOF_SECONDS = 3.0

#: Seconds before a retry after the runtime failed or the box was occupied.
RETRY_SECONDS = 1.0

#: Seconds after its start for an agent to list Rookery's tools; then messages stop waiting.
TOOLS_TIMEOUT_S = 15.0

_NOT_TAKEN = Obstacle(
    BlockedReason.NOT_TAKEN, "Enter was pressed, and its box still shows the text."
)
_NO_TOOLS = Obstacle(BlockedReason.NO_TOOLS, "its tools are not connected yet.")


@dataclass(frozen=True, slots=True)
class Dispatcher:
    database: Database
    journal: Journal
    runtime: Runtime
    agents: Mapping[str, Agent]
    #: Delivers parcels in place of the runtime, for instance through an agent's queue.
    carrier: Carrier | None = None

    async def deliver(self) -> None:
        """Deliver messages to the sessions that have some. Runs for ever."""
        await Reconciler(
            name="Delivering messages",
            clock=self._clock,
            pending=partial(self.database.peek, messages.owed),
            step=self._step,
            changed=self.database.bells.of_work,
        ).run()

    async def _step(self, session: SessionId) -> bool:
        """Take the next step for ``session``. False if there is nothing to do now."""
        now = await self.database.peek(partial(read_state, session=session))
        if now.is_holding or not now.has_work:
            return False  # while on hold, text already in a box stays there, too
        if now.parcel is None and now.awaits_interrupt:
            return await self._interrupts.interrupt(now.session)
        if now.parcel is None:
            return await self._begin(now.session)
        await self._advance(now.parcel, self.agents[now.session.agent], is_new=False)
        return True

    async def _begin(self, session: Session) -> bool:
        """Take up the messages that a session can take now. False if there are none."""
        agent = self.agents[session.agent]
        if agent.abilities.lists_tools and await self._wait_for_tools(session):
            return True  # the next step checks again: deliveries may be on hold by now
        # To a plain program two lines are two commands, each with its own answer.
        alone, now = agent.screen is None, self._clock.now()
        claim = partial(_claim, session=session, at=now, alone=alone)
        parcel = await self.database.write(claim)
        if parcel is None:
            return False
        try:
            await self._check_command(session, parcel)
        except Forbidden as forbidden:
            await self._fail(parcel, str(forbidden))
        else:
            await self._advance(parcel, agent, is_new=True)
        return True

    async def _advance(self, parcel: Parcel, agent: Agent, *, is_new: bool) -> None:
        """Have the runtime advance a parcel, and record the result."""
        log = _Log(self.database, parcel)
        delivery = await (self.carrier or self.runtime).deliver(parcel, log, is_new=is_new)
        match delivery:
            case Submitted() | LeftInput():
                await self._settle(parcel, agent, delivery)
            case Blocked():
                await self._note_blocked(parcel, delivery)
            case Refused(reason, is_in_input=True):
                await self.database.write(
                    partial(message_batches.refuse, parcel=parcel, reason=reason)
                )
            case Refused(reason):
                await self._fail(parcel, reason)
            case Unknown():
                await self._mark_unsure(parcel)
            case _:
                assert_never(delivery)

    async def _settle(
        self, parcel: Parcel, agent: Agent, delivery: Submitted | LeftInput
    ) -> None:
        """Record that a message was submitted, and wait for the agent's acknowledgement."""
        if isinstance(delivery, LeftInput):
            if not (delivery.by_hand or await self._is_hooked(parcel, agent)):
                await self._confirm(parcel, agent, entered_at=parcel.since)
            await self._wait_for_proof(parcel, is_last=True)
        elif delivery.is_in_input and not await self._is_hooked(parcel, agent):
            # No hook will report the prompt: only the box shows that Enter was ignored.
            await self._note_blocked(parcel, Blocked(_NOT_TAKEN, is_typed=True))
        else:
            await self._confirm(parcel, agent, entered_at=delivery.at)
            await self._wait_for_proof(parcel, is_last=delivery.is_final)

    async def _check_command(self, session: Session, parcel: Parcel) -> None:
        """Raise ``Forbidden`` if the project has since defined a session's command."""
        is_by_session = partial(message_batches.is_by_session, parcel=parcel)
        if parcel.is_command and await self.database.read(is_by_session):
            await require_own_command(session, parcel.words)

    async def _wait_for_tools(self, session: Session) -> bool:
        """Wait for a new session to connect to Rookery's tools. False if there is no need."""

        def has_tools(db: Connection) -> bool:
            return not sessions.awaits_tools(db, session.id)

        now = self._clock.now()
        left = TOOLS_TIMEOUT_S - (now - (session.started_at or now)).total_seconds()
        if left <= 0 or await self.database.peek(has_tools):
            return False
        explain = partial(messages.explain, recipient=session.id, obstacle=_NO_TOOLS)
        await self.database.write(explain)
        await wait_for_change.until(self.database, has_tools, seconds=left, clock=self._clock)
        return True

    async def _wait_for_proof(self, parcel: Parcel, *, is_last: bool) -> None:
        """Wait for the agent's acknowledgement; after the last wait, mark the parcel unsure."""
        if await self._is_settled_in_time(parcel) or not is_last:
            return
        if parcel.is_command:
            # Most commands cause no prompt event: leaving the box is their only proof.
            await self._note_command(parcel)
        else:
            await self._mark_unsure(parcel)

    async def _confirm(self, parcel: Parcel, agent: Agent, *, entered_at: datetime) -> None:
        """Record that Enter was pressed: the only proof for an agent that reports nothing."""

        def confirm(db: Connection) -> None:
            session = sessions.get(db, parcel.recipient)
            moved = message_batches.move(db, parcel, Step.SUBMITTED, way=_way_to(session))
            known = evidence.known(db, session, agent)
            if moved and not beliefs.hooks_report_turns(known):
                self.journal.append(db, TurnStarted(parcel.recipient, parcel.words))
                if beliefs.has_rested(known, since=entered_at):
                    # The turn was so short that its end was reported before this recorded its
                    # start.
                    self.journal.append(db, TurnEnded(parcel.recipient))

        await self.database.write(confirm)

    async def _is_hooked(self, parcel: Parcel, agent: Agent) -> bool:
        """Return whether hooks report the recipient's turns: if not, Enter is the proof."""

        def is_hooked(db: Connection) -> bool:
            session = sessions.get(db, parcel.recipient)
            return beliefs.hooks_report_turns(evidence.known(db, session, agent))

        return await self.database.peek(is_hooked)

    async def _is_settled_in_time(self, parcel: Parcel) -> bool:
        def is_settled(db: Connection) -> bool:
            now = message_batches.under_way(db, parcel.recipient)
            return now is None or now.id != parcel.id

        return await wait_for_change.until(
            self.database,
            is_settled,
            seconds=COMMAND_PROOF_SECONDS if parcel.is_command else PROMPT_PROOF_SECONDS,
            clock=self._clock,
            sessions=(parcel.recipient,),
        )

    async def _note_blocked(self, parcel: Parcel, blocked: Blocked) -> None:
        def note(db: Connection) -> None:
            if not blocked.is_typed and not message_batches.release(db, parcel):
                return
            text = blocked.text or (obstacle.detail if obstacle else "")
            if message_batches.note_blocked(db, parcel, obstacle, text=text) and obstacle:
                waited = DeliveryWaited(parcel.recipient, text, obstacle.code)
                self.journal.append(db, waited)

        obstacle = blocked.obstacle
        if obstacle or not blocked.is_typed:
            await self.database.write(note)
        if obstacle:
            await self._clock.sleep(RETRY_SECONDS)

    async def _fail(self, parcel: Parcel, reason: str) -> None:
        def fail(db: Connection) -> None:
            if message_batches.fail(db, parcel, reason=reason):
                self.journal.append(db, DeliveryWaited(parcel.recipient, reason))

        await self.database.write(fail)

    async def _note_command(self, parcel: Parcel) -> None:
        taken = CommandTaken(parcel.recipient, parcel.id)
        await self.database.write(lambda db: self.journal.append(db, taken))

    async def _mark_unsure(self, parcel: Parcel) -> None:
        def doubt(db: Connection) -> None:
            if message_batches.move(db, parcel, Step.UNSURE):
                self.journal.append(db, DeliveryDoubted(parcel.recipient, parcel.id))

        await self.database.write(doubt)

    @property
    def _interrupts(self) -> TurnInterrupts:
        return TurnInterrupts(self.database, self.journal, self.runtime, self.agents)

    @property
    def _clock(self) -> Clock:
        return self.journal.clock


def _claim(db: Connection, session: Session, at: datetime, *, alone: bool) -> Parcel | None:
    """Take up the messages that a session can take now.

    A protocol passes a text on in one step, which is stored here, to spare a transaction.
    """
    parcel = message_batches.claim(db, session.id, at, alone=alone)
    if parcel is None or not session.is_driven:
        return parcel
    message_batches.move(db, parcel, Step.PASTED, way=_way_to(session))
    return replace(parcel, step=Step.PASTED)


@dataclass(frozen=True, slots=True)
class _Log:
    """What a runtime records and looks up while it delivers a parcel."""

    database: Database
    parcel: Parcel

    async def note_typed(self) -> None:
        def note(db: Connection) -> None:
            way = _way_to(sessions.get(db, self.parcel.recipient))
            message_batches.move(db, self.parcel, Step.PASTED, way=way)

        await self.database.write(note)

    async def note_untyped(self) -> None:
        note = partial(message_batches.move, parcel=self.parcel, step=Step.SENDING)
        await self.database.write(note)

    async def may_submit(self) -> bool:
        return not await self.database.peek(flags.is_holding)

    async def previous(self) -> Parcel | None:
        last = partial(message_batches.last_typed, recipient=self.parcel.recipient)
        return await self.database.read(last)


def _way_to(session: Session) -> str:
    """Return how the runtime of a session gives it messages: a protocol's name, or keys."""
    return session.runtime if session.is_driven else Way.KEYS
