"""Operations on messages that wait or were not delivered: withdraw, edit, resend, clear."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Connection

from pydantic import Field

from rookery.model.errors import (
    CommandRefused,
    Forbidden,
    MessageUnknown,
    RuntimeFailed,
    SessionOver,
)
from rookery.model.facts import (
    MessageEdited,
    MessagesCleared,
    MessageWritten,
    SessionId,
)
from rookery.model.lifecycle import Status
from rookery.model.messages import (
    EXPIRY,
    Message,
    MessageId,
    MessageKind,
    Step,
    clean,
)
from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.messages import MessageNumber
from rookery.operations.operation import Params
from rookery.sessions import commands
from rookery.store import message_queue, messages, session_families, sessions
from rookery.store.message_queue import QueuedMessage

#: Seconds between two checks whether a message is still being given to its agent, and the
#: number of checks: if something is in the way, the message soon waits again.
ATTEMPT_CHECK_S, ATTEMPT_CHECKS = 0.1, 30


class QueuedParams(Params):
    message: MessageNumber


class EditParams(QueuedParams):
    words: str


class ResendParams(QueuedParams):
    sure: bool = Field(False, description="send it again although it may have arrived")


class ClearParams(Params):
    session: str = Field("", description="only those of this session")
    waiting: bool = Field(False, description="withdraw the messages that wait, too")


@dataclass(frozen=True, slots=True)
class Cleared:
    cleared: list[MessageId]  #: failed or unsure, and no longer listed
    withdrawn: list[MessageId]  #: that waited


async def withdraw(context: Context, caller: Caller, params: QueuedParams) -> Message:
    """Withdraw a message that waits.

    A person may also clear one that failed or may have arrived; a session may withdraw only
    its own messages.
    """
    found = await _find_after_attempt(context, caller, params.message)

    def write(db: Connection) -> Message:
        is_persons = caller.identity.session is None
        if is_persons and found.id in message_queue.settled(db, [found.recipient]):
            _clear(db, context, caller, [found.id])
        elif not commands.withdraw(db, context.journal, found, by=caller.name):
            raise CommandRefused(_too_late(db, found, "withdrawn"))
        return _shown(db, found.id)

    return await once(context, caller, Message, write)


async def edit(context: Context, caller: Caller, params: EditParams) -> Message:
    """Replace the text of a person's message that waits."""
    words = clean(params.words)
    found = await _find_after_attempt(context, caller, params.message)
    if found.kind is not MessageKind.PERSON:
        raise CommandRefused(
            f"Only a person's messages can be changed, and message {found.id} is from"
            f" {found.author}. Withdraw it:"
            f"  rookery inbox rm {found.id}"
        )
    session = await context.database.read(lambda db: sessions.get(db, found.recipient))
    words = commands.addressed(words, context.agents[session.agent])
    with suppress(RuntimeFailed):  # not up yet: checked again when the text is typed
        context.runtime.check(session.id, words.text)

    def write(db: Connection) -> Message:
        if not message_queue.edit(db, found, words):
            raise CommandRefused(_too_late(db, found, "changed"))
        context.journal.append(db, MessageEdited(found.recipient, found.id, caller.name))
        return _shown(db, found.id)

    return await once(context, caller, Message, write)


async def resend(context: Context, caller: Caller, params: ResendParams) -> Message:
    """Send an undelivered message again, as a new message.

    If its session has ended and was resumed, the session that continues it gets the message.
    """

    def write(db: Connection) -> Message:
        found = _find(db, params.message)
        _require_undelivered(found, sure=params.sure)
        _require_no_repetition(db, found)
        recipient = session_families.successor(db, found.recipient) or found.recipient
        _require_recipient(sessions.get(db, recipient), found)
        written = MessageWritten(recipient, found.author, found.is_alone, found.id)
        cause, now = context.journal.append(db, written), context.journal.clock.now()
        again = message_queue.repeat(db, found, recipient, cause=cause, at=now)
        return _shown(db, again)

    return await once(context, caller, Message, write)


async def clear(context: Context, caller: Caller, params: ClearParams) -> Cleared:
    """Remove messages that failed or may not have arrived from the inbox."""
    only = await target(context, caller, params.session, Need.OWN) if params.session else None
    recipients = [only.id] if only else None

    def write(db: Connection) -> Cleared:
        gone = message_queue.settled(db, recipients)
        waiting = message_queue.waiting(db, recipients) if params.waiting else []
        _clear(db, context, caller, gone)
        withdrawn = [
            each
            for each in waiting
            if commands.withdraw(db, context.journal, _find(db, each), by=caller.name)
        ]
        return Cleared(gone, withdrawn)

    return await once(context, caller, Cleared, write)


def _clear(db: Connection, context: Context, caller: Caller, gone: list[MessageId]) -> None:
    by_recipient: dict[SessionId, list[MessageId]] = {}
    for each in gone:
        by_recipient.setdefault(_find(db, each).recipient, []).append(each)
    message_queue.clear(db, gone, at=context.journal.clock.now())
    for recipient, ids in by_recipient.items():
        cleared = MessagesCleared(recipient, tuple(ids), caller.name)
        context.journal.append(db, cleared)


async def _find_after_attempt(context: Context, caller: Caller, message: int) -> QueuedMessage:
    """Return a message that the caller may change; wait a little while it is being given."""
    found = await context.database.read(lambda db: _find_own(db, caller, message))
    for _ in range(ATTEMPT_CHECKS):
        if found.step is not Step.SENDING:
            break
        await context.journal.clock.sleep(ATTEMPT_CHECK_S)
        found = await context.database.read(lambda db: _find_own(db, caller, message))
    return found


def _find_own(db: Connection, caller: Caller, message: int) -> QueuedMessage:
    """Return a message that the caller may change. Raises ``Forbidden``.

    The refusal is the same whether or not the message exists.
    """
    if caller.identity.session is None:
        return _find(db, message)
    found = message_queue.find(db, message)
    if found is None or found.author != caller.name:
        raise Forbidden(f"message {message} does not exist, or another session has written it.")
    return found


def _find(db: Connection, message: int) -> QueuedMessage:
    found = message_queue.find(db, message)
    if found is None:
        raise MessageUnknown(message)
    return found


def _shown(db: Connection, message: MessageId) -> Message:
    found = messages.get(db, message)
    if found is None:
        raise MessageUnknown(message)
    return found


def _require_recipient(session: Session, message: QueuedMessage) -> None:
    """Refuse a message to a session that has ended and was not resumed."""
    if session.status.is_over or session.status is Status.CLOSING:
        raise SessionOver(
            f"{session.name}. Resume it, then send message {message.id} again:"
            f"  rookery resume {session.name}"
        )


def _require_undelivered(message: QueuedMessage, *, sure: bool) -> None:
    """Refuse to repeat a message that waits, has arrived, or may have (unless ``sure``)."""
    if message.kind is MessageKind.RELAY:
        raise CommandRefused(
            f"Message {message.id} is from a relay, whose answers are not sent again. Send its"
            " text as a message of yours:  rookery send"
        )
    if message.step is Step.UNSURE and not sure:
        raise CommandRefused(
            f"Message {message.id} may have arrived. To send it again nevertheless:"
            f"  rookery inbox resend --yes {message.id}",
            unsure=str(message.id),
        )
    if message.step not in {Step.FAILED, Step.UNSURE, Step.WITHDRAWN}:
        raise CommandRefused(f"Message {message.id} {_FATES[message.step]}.")


def _require_no_repetition(db: Connection, message: QueuedMessage) -> None:
    """Refuse to send a text twice again. Raises ``CommandRefused``."""
    copy = message_queue.latest_repetition(db, message)
    if copy and copy.step is not Step.WITHDRAWN:
        raise CommandRefused(
            f"Message {message.id} was sent again as message {copy.id}, which"
            f" {_FATES[copy.step]}."
        )


#: What became of a message, to follow its number.
_FATES = {
    Step.PENDING: "still waits",
    Step.SENDING: "is being typed",
    Step.PASTED: "is being typed",
    Step.SUBMITTED: "was sent already",
    Step.ACKNOWLEDGED: "has arrived already",
    Step.UNSURE: "may have arrived",
    Step.FAILED: "was not delivered",
}


def _too_late(db: Connection, message: QueuedMessage, what: str) -> str:
    """Return why a message can no longer be withdrawn or changed."""
    now = _shown(db, message.id)
    if now.step is Step.WITHDRAWN:
        how = "has expired" if now.withdrawn_by == EXPIRY else "is withdrawn already"
    else:
        how = _FATES[now.step]
    return f"Message {message.id} {how}; it cannot be {what}."
