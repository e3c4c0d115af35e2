"""The actor behind an action: a person, a session, or a part of Rookery."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rookery.model.facts import SessionId

#: Matches the text form of a session as an actor, also within a sentence.
SESSION_IN_TEXT = re.compile(r"\bsession ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


class ActorKind(StrEnum):
    PERSON = "person"
    SESSION = "session"
    LISTENERS = "listeners"  #: Rookery, notifying that another session has stopped
    RELAY = "relay"  #: the members of a relay
    RELAY_NEWS = "relays"  #: Rookery, reporting changes of a relay
    OTHER = "other"  #: a rule, a deadline, the agent itself


@dataclass(frozen=True, slots=True)
class Actor:
    kind: ActorKind
    id: str = ""  #: the id of the session or relay; for other kinds, the name

    @staticmethod
    def of_session(session: SessionId) -> Actor:
        return Actor(ActorKind.SESSION, session)

    @staticmethod
    def read(text: str) -> Actor:
        """Parse the output of ``str``, which the journal and the tables store."""
        kind, _, name = text.partition(" ")
        kinds = {each.value: each for each in ActorKind if each is not ActorKind.OTHER}
        return Actor(kinds[kind], name) if kind in kinds else Actor(ActorKind.OTHER, text)

    @property
    def is_rookery(self) -> bool:
        """Return whether this is Rookery itself, which notifies sessions of changes."""
        return self.kind in {ActorKind.LISTENERS, ActorKind.RELAY_NEWS}

    def __str__(self) -> str:
        if self.kind is ActorKind.OTHER:
            return self.id
        return f"{self.kind} {self.id}".rstrip()


#: The actor when a deadline has passed: that of a request, or of a message that expires.
CLOCK = "the clock"

#: The actor for a command such as ``rookery run``, which ends its session after the answer.
RUN = "run"

PERSON = Actor(ActorKind.PERSON)
LISTENERS = Actor(ActorKind.LISTENERS)
