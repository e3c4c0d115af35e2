"""Words on their way to a session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import NewType

from rookery.model.actors import Actor, ActorKind
from rookery.model.errors import Occupied, WordsRefused
from rookery.model.facts import SessionId
from rookery.model.rewriting import essence, from_first_visible

MessageId = NewType("MessageId", int)

#: Bytes of one message; a terminal takes no more in one paste without trouble.
LONGEST = 1_000_000

#: Bytes of one line that a terminal in its simplest mode takes at once.
LONGEST_LINE = 4_000

#: C0 and C1 but tab and newline: ``ESC[201~`` would break out of a bracketed paste.
_CONTROL = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")


class Step(StrEnum):
    """How far a message has come. Never twice; rather unsure than twice."""

    PENDING = "pending"  #: nobody has touched it
    SENDING = "sending"  #: the words may be in the box
    PASTED = "pasted"  #: the words are in the box; Enter may have been pressed
    SUBMITTED = "submitted"  #: Enter was pressed
    ACKNOWLEDGED = "acknowledged"  #: a prompt fact had the same words
    UNSURE = "unsure"  #: it may have arrived; only a proof moves it, never another try
    FAILED = "failed"  #: it never left, its session was over first, or its agent refused it


@dataclass(frozen=True, slots=True)
class Words:
    """What will be typed, and how many characters of what was given will not."""

    text: str
    removed: int
    changed: str = ""  #: what the recipient's program changes of the rest


class MessageKind(StrEnum):
    """Whose words a message has."""

    PERSON = "person"
    SESSION = "session"  #: that was told to send them
    RELAY = "relay"  #: of a member of a relay
    NEWS = "news"  #: Rookery's own


#: What an author writes; all others write as a person does.
_KINDS = {
    ActorKind.SESSION: MessageKind.SESSION,
    ActorKind.RELAY: MessageKind.RELAY,
    ActorKind.RELAY_NEWS: MessageKind.NEWS,
    ActorKind.LISTENERS: MessageKind.NEWS,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where words come from: who wrote them, and because of what."""

    author: Actor
    cause: int  #: an entry
    envelope: str = ""  #: the line above them that says so
    hops: int = 0  #: relays since a person or a direct message spoke
    relay: str | None = None

    @property
    def kind(self) -> MessageKind:
        return _KINDS.get(self.author.kind, MessageKind.PERSON)


@dataclass(frozen=True, slots=True)
class Message:
    id: MessageId
    recipient: SessionId
    step: Step
    removed: int  #: control characters that were taken out
    changed: str = ""  #: what the agent's program changes of the words
    waits_for: str = ""  #: why it has not left yet
    listening: bool = False  #: whoever wrote it waits from now on for what comes of it
    obstacle: str = ""  #: what ``waits_for`` says, without how an error introduces it


@dataclass(frozen=True, slots=True)
class Parcel:
    """All that waited for one session, joined, carried at once."""

    id: int  #: that of its first message
    recipient: SessionId
    words: str
    step: Step
    since: datetime  #: when it was taken up
    is_composed: bool = False  #: we have put it together, of a name and words for instance
    refused: str = ""  #: why its agent did not take it; it is being taken out of the box

    @property
    def is_command(self) -> bool:
        """Whether an agent's program may do something about it without a turn."""
        return from_first_visible(self.words).startswith("/") and not self.is_composed

    @property
    def receipt(self) -> str:
        """What a runtime writes down of it. Its number may be used again, after a restore."""
        return f"{self.id}@{self.since.isoformat()}"


def clean(text: str) -> Words:
    """Take out what a terminal would obey instead of show. Raises ``WordsRefused``."""
    if "\0" in text:
        raise WordsRefused("they contain a NUL character.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise WordsRefused("they contain half of a character (a lone surrogate).") from None
    if size > LONGEST:
        raise WordsRefused(f"{size:,} bytes; {LONGEST:,} is the most. Send a file's path.")
    kept, removed = _CONTROL.subn("", text.replace("\r\n", "\n"))
    if not kept.strip():
        raise WordsRefused("there is nothing in them.")
    return Words(kept, removed)


def obstacle_in(waits_for: str) -> str:
    """Return what keeps a message from being typed, without the error's introduction."""
    return waits_for.removeprefix(f"{Occupied.__doc__} ")


def join(pieces: Iterable[tuple[str, str]]) -> str:
    """Put words together, each under its envelope; what has the same needs it once."""
    blocks = []
    for envelope, group in groupby(pieces, key=itemgetter(0)):
        words = [each for _, each in group]
        blocks.append("\n".join((envelope, *words)) if envelope else "\n\n".join(words))
    return "\n\n".join(blocks)


def folded(words: str) -> str:
    """Return words as the one line that a plain program takes; what is too long is cut."""
    one = " ".join(filter(None, map(str.strip, words.splitlines())))
    if len(one.encode()) <= LONGEST_LINE:
        return one
    kept = one.encode()[: LONGEST_LINE - 40].decode(errors="ignore")
    return f"{kept} … ({len(one) - len(kept):,} more characters)"


def same_words(ours: str, theirs: str) -> bool:
    """Return whether two texts differ in nothing but blanks and what programs rewrite."""
    return essence(ours).split() == essence(theirs).split()
