"""Commands on live sessions: send, withdraw, rename, end. Each may be refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sqlite3 import Connection

from rookery.agents.mentions import without_mentions
from rookery.model.actors import Actor
from rookery.model.envelopes import envelope, quoted
from rookery.model.errors import (
    BacklogFull,
    CommandRefused,
    NameTaken,
    SessionOver,
)
from rookery.model.facts import (
    EndRequested,
    MessageWithdrawn,
    MessageWritten,
    SessionId,
    SessionRenamed,
)
from rookery.model.lifecycle import Status
from rookery.model.messages import (
    USUAL_HANDLING,
    Handling,
    MessageId,
    Origin,
    Urgency,
    Words,
)
from rookery.ports.agent import Agent
from rookery.store import message_limits, message_queue, messages, sessions
from rookery.store.journal import Journal
from rookery.store.message_queue import QueuedMessage
from rookery.store.session_lookup import TakenNames


@dataclass(frozen=True, slots=True)
class MessageSender:
    """The sender of a message."""

    name: str
    session: SessionId | None = None  #: set if the sender is a session
    is_direct: bool = False  #: the two sessions relay their answers from now on
    is_command: bool = False  #: for the agent's program itself, so it gets no envelope


def addressed(words: Words, agent: Agent) -> Words:
    """Record what the agent's program will change in the text."""
    return replace(words, changed=agent.input.rewriting.changes(words.text))


def send(  # noqa: PLR0913 - a message
    db: Connection,
    journal: Journal,
    *,
    speaker: MessageSender,
    recipient: SessionId,
    words: Words,
    handling: Handling = USUAL_HANDLING,
) -> MessageId:
    """Queue a message for a session, which gets it once it can. Refused if it is over."""
    session = sessions.get(db, recipient)
    if session.status.is_over or session.status is Status.CLOSING:
        raise SessionOver(f"{session.name} ({session.status}: {session.reason})")
    if not session.can_receive:
        raise CommandRefused(f"{session.name} has no pane: nothing can be typed into it.")
    if sessions.has_one_turn(db, recipient) and handling.urgency is not Urgency.STEER:
        raise CommandRefused(
            f"{session.name} ends after its first turn, so it takes no further message. Once it"
            f" has ended, continue it:  rookery resume {session.name} TEXT"
        )
    return write(db, journal, recipient, words, speaker, handling=handling)


def write(  # noqa: PLR0913 - a message
    db: Connection,
    journal: Journal,
    recipient: SessionId,
    words: Words,
    speaker: MessageSender,
    *,
    handling: Handling,
) -> MessageId:
    """Queue a message. Raises ``BacklogFull`` if too many wait already."""
    if why := message_limits.why_no_room(db, recipient, words.text):
        name = sessions.get(db, recipient).name
        raise BacklogFull(f"{why} for {name}. See them with:  rookery inbox {name}")
    cause = journal.append(db, MessageWritten(recipient, speaker.name, handling.alone))
    author = Actor.read(speaker.name)
    plain = Origin(author, cause, handling=handling)
    if speaker.session is None:
        return messages.add(db, recipient, words, plain)
    by, to = sessions.get(db, speaker.session), sessions.get(db, recipient)
    words = replace(words, text=without_mentions(to.agent, words.text))
    if speaker.is_command:
        return messages.add(db, recipient, words, plain)
    sender = f"session {by.name} ({by.id})"
    above = envelope(speaker=sender, recipient=to.name, about="a message")
    hops = 0 if speaker.is_direct else messages.hops_of(db, by.id)
    enveloped = replace(words, text=quoted(words.text))
    origin = Origin(author, cause, above, hops, handling=handling)
    return messages.add(db, recipient, enveloped, origin)


def withdraw(db: Connection, journal: Journal, message: QueuedMessage, *, by: str) -> bool:
    """Withdraw a message that waits. False if its delivery has begun or it is settled."""
    if not message_queue.withdraw(db, message, by=by):
        return False
    journal.append(db, MessageWithdrawn(message.recipient, message.id, by))
    return True


def rename(db: Connection, journal: Journal, session: SessionId, *, name: str) -> None:
    """Rename a session. Refused if another live session has the name."""
    now = sessions.get(db, session)
    if now.name == name:
        return
    if now.status.is_over:
        raise SessionOver(f"{now.name}; an ended session keeps its name.")
    if name in TakenNames(db):
        raise NameTaken(f"{name!r}. Choose another.")
    journal.append(db, SessionRenamed(session, name))


def end(
    db: Connection, journal: Journal, session: SessionId, *, by: str, force: bool = False
) -> None:
    """Request the end of a session. A second request succeeds and does nothing.

    A session that Rookery did not start is ended only with ``force``.
    """
    now = sessions.get(db, session)
    if now.status.is_over or now.status is Status.CLOSING:
        return
    if now.has_terminal and not now.is_ours and not force:
        how = f"end it where it runs, or:  rookery end --force {now.name}"
        raise CommandRefused(f"Rookery did not start {now.name}; {how}")
    if not (now.is_ours or now.has_terminal):
        raise CommandRefused(f"Rookery did not start {now.name}; end it where it runs.")
    journal.append(db, EndRequested(session, by))
