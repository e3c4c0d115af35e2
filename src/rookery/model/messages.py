"""Messages to a session, from acceptance to acknowledgement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import NewType

from rookery.model.actors import CLOCK, Actor, ActorKind
from rookery.model.errors import WordsRefused
from rookery.model.facts import SessionId
from rookery.model.obstacles import Obstacle
from rookery.model.text_rewriting import essence, from_first_visible

MessageId = NewType("MessageId", int)

#: Bytes of one message; more in one paste causes trouble in terminals.
MAX_MESSAGE_BYTES = 1_000_000

#: Bytes of one line that a terminal in canonical mode accepts.
MAX_LINE_BYTES = 4_000

#: C0 and C1 except tab and newline: ``ESC[201~`` would break out of a bracketed paste.
_CONTROL = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")


class Step(StrEnum):
    """How far a message has come. Never twice; rather unsure than twice."""

    PENDING = "pending"  #: delivery has not begun
    SENDING = "sending"  #: the text may be in the input box
    PASTED = "pasted"  #: the text is in the input box; Enter may have been pressed
    SUBMITTED = "submitted"  #: Enter was pressed
    ACKNOWLEDGED = "acknowledged"  #: the agent reported a prompt with the same text
    UNSURE = "unsure"  #: it may have arrived; only a proof changes this, it is never sent again
    FAILED = "failed"  #: it was never sent, its session ended first, or its agent refused it
    WITHDRAWN = "withdrawn"  #: it was taken back, or expired, before it was sent


#: The actor that withdraws a message which was not sent in time.
EXPIRY = CLOCK


class Way(StrEnum):
    """How a message is given to an agent in a terminal."""

    KEYS = "keys"
    QUEUE = "queue"  #: through the agent's own message queue


class Urgency(StrEnum):
    """How a message reaches a session that is in the middle of a turn."""

    NONE = ""  #: it waits for the end of the turn
    STEER = "steer"  #: it is typed during the turn, and the agent takes it up
    INTERRUPT = "interrupt"  #: the turn is interrupted first


@dataclass(frozen=True, slots=True)
class Words:
    """The text that will be typed, and how many characters were removed from the input."""

    text: str
    removed: int
    changed: str = ""  #: what the recipient's program changes in the text


class MessageKind(StrEnum):
    """Who wrote the text of a message."""

    PERSON = "person"
    SESSION = "session"  #: a session, by a direct message
    RELAY = "relay"  #: a member of a relay
    NEWS = "news"  #: Rookery itself


#: The kind of message that each author writes; all other authors count as a person.
_KINDS = {
    ActorKind.SESSION: MessageKind.SESSION,
    ActorKind.RELAY: MessageKind.RELAY,
    ActorKind.RELAY_NEWS: MessageKind.NEWS,
    ActorKind.LISTENERS: MessageKind.NEWS,
}


@dataclass(frozen=True, slots=True)
class Handling:
    """How a message is delivered."""

    alone: bool = False  #: a turn of its own: not joined with other messages that wait
    urgency: Urgency = Urgency.NONE
    expires_at: datetime | None = None  #: withdrawn if it is not sent by then


#: Delivered once the recipient is idle, together with other messages that wait.
USUAL_HANDLING = Handling()


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a message: its author and its cause."""

    author: Actor
    cause: int  #: the journal entry that led to it
    envelope: str = ""  #: the line above the text that names the sender
    hops: int = 0  #: relayed answers since a message of a person or a direct message
    relay: str | None = None
    handling: Handling = USUAL_HANDLING

    @property
    def kind(self) -> MessageKind:
        return _KINDS.get(self.author.kind, MessageKind.PERSON)


@dataclass(frozen=True, slots=True)
class Message:
    id: MessageId
    recipient: SessionId
    step: Step
    removed: int  #: control characters that were removed
    changed: str = ""  #: what the agent's program changes in the text
    waits_for: str = ""  #: why it was not sent yet
    listening: bool = False  #: its author now listens for the outcome
    obstacle: str = ""  #: ``waits_for`` without the introduction of the error
    blocked: Obstacle | None = None  #: what keeps it from being delivered
    withdrawn_by: str = ""  #: who took it back; the clock if it expired
    repeats: MessageId | None = None  #: the message whose text was sent again
    expires_at: datetime | None = None
    urgency: Urgency = Urgency.NONE
    #: How it was given to the agent: see ``Way``, or the runtime of a driven session.
    way: str = ""
    receipt: int | None = None  #: the journal entry of the agent's prompt event that proves it


@dataclass(frozen=True, slots=True)
class Parcel:
    """The messages that waited for one session, joined and delivered together."""

    id: int  #: the id of its first message
    recipient: SessionId
    words: str
    step: Step
    since: datetime  #: when its delivery began
    is_composed: bool = False  #: Rookery added to the text, for instance a name
    refused: str = ""  #: why the agent refused it; it is being removed from the input box
    way: str = ""  #: how it is given to the agent; empty until that is known

    @property
    def is_command(self) -> bool:
        """Return whether the agent's program may execute it as a command, without a turn."""
        return from_first_visible(self.words).startswith("/") and not self.is_composed

    @property
    def receipt(self) -> str:
        """Return the key that a runtime stores with what it typed.

        The key contains the time because ids are reused after a restore of the database.
        """
        return f"{self.id}@{self.since.isoformat()}"


def clean(text: str) -> Words:
    """Remove the characters that control a terminal. Raises ``WordsRefused``."""
    if "\0" in text:
        raise WordsRefused("it contains a NUL character.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise WordsRefused("it contains half of a character (a lone surrogate).") from None
    if size > MAX_MESSAGE_BYTES:
        limit = f"{MAX_MESSAGE_BYTES:,}"
        raise WordsRefused(
            f"it has {size:,} bytes; the limit is {limit}. Send the path of a file."
        )
    cleaned, removed = _CONTROL.subn("", text.replace("\r\n", "\n"))
    if not cleaned.strip():
        raise WordsRefused("it is empty.")
    return Words(cleaned, removed)


def join(pieces: Iterable[tuple[str, str]]) -> str:
    """Join texts, each under its envelope; neighbours with the same envelope share it."""
    blocks = []
    for envelope, group in groupby(pieces, key=itemgetter(0)):
        words = [each for _, each in group]
        blocks.append("\n".join((envelope, *words)) if envelope else "\n\n".join(words))
    return "\n\n".join(blocks)


def folded(words: str) -> str:
    """Return the text as one line, for a program that reads lines; a long text is cut."""
    one = " ".join(filter(None, map(str.strip, words.splitlines())))
    if len(one.encode()) <= MAX_LINE_BYTES:
        return one
    beginning = one.encode()[: MAX_LINE_BYTES - 40].decode(errors="ignore")
    return f"{beginning} … ({len(one) - len(beginning):,} more characters)"


def same_words(ours: str, theirs: str) -> bool:
    """Return whether two texts differ only in blanks and in what programs rewrite."""
    return essence(ours).split() == essence(theirs).split()
