"""Operations on messages: send one, show its progress, and wait for its answer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from sqlite3 import Connection
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from rookery.model.errors import (
    CommandRefused,
    Forbidden,
    MessageUnknown,
    RuntimeFailed,
    StillWorking,
)
from rookery.model.facts import SessionId
from rookery.model.lifecycle import Activity
from rookery.model.messages import (
    EXPIRY,
    Handling,
    Message,
    MessageId,
    Step,
    Urgency,
    clean,
)
from rookery.model.scopes import Need
from rookery.model.sessions import Session, Turn
from rookery.operations.access import reach, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.keys import correct_missed_end
from rookery.operations.long_poll import until
from rookery.operations.operation import Moment, OfSession, Params
from rookery.operations.outcome_listeners import Link, link, speaker_of
from rookery.operations.sessions import doing, require_alive
from rookery.sessions import commands
from rookery.store import flags, messages, turns
from rookery.store import sessions as stored_sessions

#: Steps at which a message may not have reached the agent yet.
NOT_LEFT = frozenset({Step.PENDING, Step.SENDING, Step.PASTED})

#: Steps after which nothing more happens to a message by itself.
LOST = frozenset({Step.FAILED, Step.UNSURE, Step.WITHDRAWN})

MessageNumber: TypeAlias = Annotated[int, Field(ge=0, le=2**62)]


class SendParams(OfSession):
    words: str
    direct: bool = Field(False, description="let the two talk: what it answers comes back")
    listen: bool = Field(False, description="tell the session that asks when it is done")
    alone: bool = Field(
        False, description="a turn of its own: not joined with other words that wait"
    )
    now: bool = Field(
        False,
        description="before all that waits, and in the middle of a turn: it is typed into the"
        " turn if the agent takes that, else the turn is interrupted",
    )
    interrupt: bool = Field(False, description="as now, but always interrupt the turn")
    expire: Annotated[float, Field(gt=0, le=31_536_000)] | None = Field(
        None, description="seconds after which it is withdrawn if it was not sent"
    )


class MessageParams(Params):
    message: MessageNumber
    until: Literal["left", "input"] = Field(
        "left",
        description="what to wait for: that the message left, or it is known why not; or that"
        " its session needs a person, or nothing more will come",
    )
    known: Moment | None = Field(
        None, description="since when their session asks something, if that is known already"
    )
    timeout: Annotated[float, Field(ge=0, le=86_400)] = 0.0


class AnswerParams(Params):
    message: MessageNumber
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 600.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """The progress of a message, and its outcome."""

    message: Message
    session: Session  #: the recipient
    turn: Turn | None  #: that took the message up
    holding: bool = False  #: no message leaves until the hold is released

    @property
    def is_settled(self) -> bool:
        return (
            self.message.step in LOST
            or self.is_obeyed
            or bool(self.turn and self.turn.ended_at)
        )

    @property
    def is_obeyed(self) -> bool:
        """Return whether it was a command that the agent's program took without a turn."""
        return self.message.step is Step.ACKNOWLEDGED and self.turn is None


async def send(context: Context, caller: Caller, params: SendParams) -> Message:
    """Send a message to a session; it is delivered once the session is idle."""
    text = clean(params.words)
    session = await target(context, caller, params.session, Need.SPEAK)
    require_alive(session)
    urgency = await _urgency(context, caller, session, params)
    words = commands.addressed(text, context.agents[session.agent])
    with suppress(RuntimeFailed):  # not up yet: checked again when the text is typed
        context.runtime.check(session.id, words.text)
    now = context.journal.clock.now()
    expires_at = now + timedelta(seconds=params.expire) if params.expire else None

    def write(db: Connection) -> Message:
        message = commands.send(
            db,
            context.journal,
            speaker=speaker_of(caller, direct=params.direct),
            recipient=session.id,
            words=words,
            handling=Handling(params.alone, urgency, expires_at),
        )
        outcome_link = Link(session.id, message, params.direct, params.listen)
        listening = link(db, context, caller, outcome_link)
        return Message(
            message,
            session.id,
            Step.PENDING,
            words.removed,
            changed=words.changed,
            listening=listening,
            expires_at=expires_at,
            urgency=urgency,
        )

    return await once(context, caller, Message, write)


async def _urgency(
    context: Context, caller: Caller, session: Session, params: SendParams
) -> Urgency:
    """Return how a message reaches a turn that runs. Raises ``CommandRefused``."""
    if not params.now and not params.interrupt:
        return Urgency.NONE
    # It may end a turn: the right to send messages is not enough.
    await target(context, caller, session.id, Need.END)
    if session.is_asking:
        raise CommandRefused(
            f"{session.name} {doing(session)}; the message would answer it. Answer it first, or"
            f" stop the turn:  rookery interrupt {session.name}"
        )
    agent = context.agents[session.agent]
    if agent.abilities.can_steer and not params.interrupt:
        return Urgency.STEER
    if not agent.input.interrupt:
        raise CommandRefused(
            f"{session.agent} takes no message during a turn, and cannot be interrupted. Send"
            " the message without --now: it is delivered when the turn ends."
        )
    await correct_missed_end(context, caller, session)
    return Urgency.INTERRUPT


async def show_message(context: Context, caller: Caller, params: MessageParams) -> Delivery:
    """Show how far a message was delivered; or wait for a change."""

    def is_news(db: Connection) -> bool:
        now = _delivery(db, params.message)
        if params.until == "left":
            return _is_left_or_kept(now)
        asks = now.session.is_asking and now.session.since != params.known
        return asks or now.is_settled

    recipient = await _readable_recipient(context, caller, params.message)
    if params.timeout:
        await until(context, caller, is_news, params.timeout, sessions=[recipient])
    return await context.database.read(lambda db: _delivery(db, params.message))


async def answer(context: Context, caller: Caller, params: AnswerParams) -> Turn:
    """Wait for the end of the turn that took a message up."""

    def is_settled(db: Connection) -> bool:
        return _delivery(db, params.message).is_settled

    recipient = await _readable_recipient(context, caller, params.message)
    await until(context, caller, is_settled, params.timeout, sessions=[recipient])
    now = await context.database.read(lambda db: _delivery(db, params.message))
    if now.turn and now.turn.ended_at:
        return now.turn
    if now.is_obeyed:
        name = now.session.name
        raise CommandRefused(f"{name} has taken the command; see:  rookery screen {name}")
    if now.message.step is Step.WITHDRAWN:
        raise CommandRefused(_why_withdrawn(now))
    if now.message.step in {Step.FAILED, Step.UNSURE}:
        require_alive(now.session)
    if now.message.step is Step.FAILED:
        raise CommandRefused(
            f"{now.session.name} did not receive the message. {now.message.waits_for}"
        )
    raise StillWorking(_why(now.session, now.message))


async def _readable_recipient(context: Context, caller: Caller, message: int) -> SessionId:
    """Return the recipient of a message that the caller may read. Raises ``Forbidden``.

    The refusal is the same whether or not the message exists.
    """

    def read(db: Connection) -> SessionId:
        allowed = reach(context, db, caller, Need.READ)
        if allowed is None:
            return _delivery(db, message).session.id
        with suppress(MessageUnknown):
            recipient = _delivery(db, message).session.id
            if recipient in allowed:
                return recipient
        raise Forbidden(f"the message {message} does not exist, or the caller may not see it.")

    return await context.database.read(read)


def _delivery(db: Connection, number: int) -> Delivery:
    message = messages.get(db, MessageId(number))
    if message is None:
        raise MessageUnknown(number)
    turn = turns.of_message(db, message.id)
    session = stored_sessions.get(db, message.recipient)
    return Delivery(message, session, turn, flags.is_holding(db))


def _is_left_or_kept(now: Delivery) -> bool:
    """Return whether a message left, or waits for a known reason."""
    if now.message.step not in NOT_LEFT or now.message.waits_for or now.holding:
        return True
    is_kept = now.session.activity is not Activity.IDLE and not now.message.urgency
    return now.message.step is Step.PENDING and is_kept


def _why_withdrawn(now: Delivery) -> str:
    number, name = now.message.id, now.session.name
    if now.message.withdrawn_by == EXPIRY:
        return f"message {number} for {name} expired before it could be sent."
    return f"message {number} for {name} was withdrawn by {now.message.withdrawn_by}."


def _why(session: Session, message: Message) -> str:
    hint = f"See it later with:  rookery output {session.name}"
    if message.step is Step.UNSURE:
        return f"{session.name} may not have received the message. {hint}"
    if message.waits_for:
        return f"the message for {session.name} waits: {message.waits_for}"
    return f"{session.name} {doing(session)}. {hint}"
