"""Give messages to agents through their own message queues, where that is configured.

Nothing is typed, so a draft or a dialog delays no message. The receipt of a message is in the
queue until the agent takes the message, then in the conversation. After a crash both are
searched, and the message is added again only if it is in neither.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from rookery.agents.driver_catalog import find_queue
from rookery.drivers.driver import DriverError, DriverLaunch
from rookery.drivers.message_queue import (
    MakeQueue,
    MessageQueue,
    QueueBroken,
    QueuePlace,
)
from rookery.model.lifecycle import Activity
from rookery.model.messages import Parcel, Step, Way
from rookery.model.obstacles import BlockedReason, Obstacle
from rookery.model.sessions import TMUX, Session
from rookery.ports.agent import Agent
from rookery.ports.clock import Clock
from rookery.ports.deliveries import Blocked, Carrier, Delivery, DeliveryLog, Submitted
from rookery.store import message_batches, sessions
from rookery.store.database import Database

_log = logging.getLogger(__name__)

#: After this time a message is typed instead. An idle agent reads its queue every 10 s.
MAX_QUEUE_WAIT = timedelta(seconds=30)

#: After this time without an answer of the queue, a message that may be in it is unsure.
MAX_QUEUE_SILENCE = timedelta(minutes=5)

_UNREAD = Obstacle(BlockedReason.QUEUE_UNREAD, "its message queue cannot be read.")

#: Seconds for a message that has left the queue to appear in the conversation.
TAKING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class QueuedDelivery:
    """Gives messages to queues where that is configured, and to the runtime elsewhere."""

    database: Database
    clock: Clock
    runtime: Carrier
    agents: Mapping[str, Agent]
    uses_queue: Callable[[str], bool]  #: whether an agent's messages go to its queue
    #: Builds an agent's environment from the caller's, given the agent and the profile.
    environment: Callable[[str, str, Mapping[str, str]], Mapping[str, str]]
    find_queue: Callable[[str], MakeQueue] = find_queue

    async def deliver(self, parcel: Parcel, log: DeliveryLog, *, is_new: bool) -> Delivery:
        """Advance a delivery by one step."""
        session = await self.database.peek(partial(sessions.get, session=parcel.recipient))
        if parcel.way == Way.QUEUE:
            return await self._resume(parcel, session, log)
        if is_new and self._is_for_queue(parcel, session):
            return await self._begin(parcel, session, log)
        return await self.runtime.deliver(parcel, log, is_new=is_new)

    def _is_for_queue(self, parcel: Parcel, session: Session) -> bool:
        """Return whether a message goes to the agent's queue.

        A command is typed: the queue would give it to the model as plain text. So is the first
        message of a session whose conversation is not known yet.
        """
        is_reachable = session.runtime == TMUX and bool(session.native_id)
        is_possible = is_reachable and bool(self.agents[session.agent].queue)
        return is_possible and self.uses_queue(session.agent) and not parcel.is_command

    async def _begin(self, parcel: Parcel, session: Session, log: DeliveryLog) -> Delivery:
        if not await log.may_submit():
            return Blocked()
        queue = await self._queue(session)
        await self._choose(parcel, Way.QUEUE)
        try:
            await queue.add(parcel.receipt, parcel.words)
        except QueueBroken:
            return await self._resume(parcel, session, log)
        except DriverError as error:
            _log.warning(
                "The queue of %s refused a message, which is typed: %s", session.name, error
            )
            return await self._type_instead(parcel, log)
        return await self._note_queued(parcel)

    async def _resume(self, parcel: Parcel, session: Session, log: DeliveryLog) -> Delivery:
        """Look for a message that may be in the queue, and continue its delivery."""
        queue = await self._queue(session)
        try:
            match await self._find(queue, parcel):
                case QueuePlace.WAITING if self._is_overdue(parcel, session):
                    if await queue.remove(parcel.receipt):
                        return await self._type_instead(parcel, log)
                case QueuePlace.ABSENT if parcel.step is Step.SENDING:
                    await self._choose(parcel, "")  # it never got there
                    return Blocked()
                case QueuePlace.WAITING:
                    return await self._note_queued(parcel)
                case _:
                    pass
        except DriverError as error:
            _log.warning("The queue of %s cannot be read: %s", session.name, error)
            if parcel.step is Step.SENDING and not self._is_older(parcel, MAX_QUEUE_SILENCE):
                return Blocked(_UNREAD, is_typed=True)  # perhaps it never got there
            return Submitted(parcel.since)
        return Submitted(parcel.since, is_final=True)

    async def _find(self, queue: MessageQueue, parcel: Parcel) -> QueuePlace:
        place = await queue.find(parcel.receipt)
        if place is QueuePlace.ABSENT:
            await self.clock.sleep(TAKING_SECONDS)
            place = await queue.find(parcel.receipt)
        return place

    def _is_overdue(self, parcel: Parcel, session: Session) -> bool:
        is_idle = session.activity is Activity.IDLE
        return is_idle and self._is_older(parcel, MAX_QUEUE_WAIT)

    def _is_older(self, parcel: Parcel, age: timedelta) -> bool:
        return self.clock.now() - parcel.since > age

    async def _note_queued(self, parcel: Parcel) -> Delivery:
        move = partial(message_batches.move, parcel=parcel, step=Step.PASTED)
        await self.database.write(move)
        return Submitted(self.clock.now())

    async def _type_instead(self, parcel: Parcel, log: DeliveryLog) -> Delivery:
        """Type a message that the queue does not have."""

        def go_back(db: Connection) -> None:
            message_batches.move(db, parcel, Step.SENDING)
            message_batches.choose_way(db, parcel, "")

        await self.database.write(go_back)
        return await self.runtime.deliver(parcel, log, is_new=True)

    async def _choose(self, parcel: Parcel, way: str) -> None:
        await self.database.write(partial(message_batches.choose_way, parcel=parcel, way=way))

    async def _queue(self, session: Session) -> MessageQueue:
        """Return the queue of a session's conversation."""
        options = await self.database.read(partial(sessions.launch_of, session=session.id))
        access = self.agents[session.agent].queue
        assert access  # noqa: S101 - only such sessions come here
        caller = options.get("environment") or {}
        launch = DriverLaunch(
            session.id,
            (*options["command"], *access.arguments),
            self.environment(session.agent, session.profile, caller),
            Path(session.project_path, session.subdir),
        )
        return self.find_queue(access.name)(launch, str(session.native_id))
