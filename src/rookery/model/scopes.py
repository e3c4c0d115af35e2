"""Who may ask for what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rookery.model.actors import PERSON, Actor
from rookery.model.facts import SessionId

#: How deep sessions may start sessions, and how many of them may live.
DEEPEST, MOST_CHILDREN = 3, 20


class Scope(StrEnum):
    OWNER = "owner"  #: everything
    SESSION = "session"  #: a session, by its badge: its family
    READER = "reader"  #: reads


class Need(StrEnum):
    """What an operation does to what it is about."""

    READ = "read"
    SPEAK = "speak"
    START = "start"
    END = "end"
    DECIDE = "decide"
    OWN = "own"


#: What each scope may do at all; of a session's needs, some only to its family.
MAY: dict[Scope, frozenset[Need]] = {
    Scope.OWNER: frozenset(Need),
    Scope.SESSION: frozenset({Need.READ, Need.SPEAK, Need.START, Need.END, Need.DECIDE}),
    Scope.READER: frozenset({Need.READ}),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, as the daemon knows it; never as they say."""

    scope: Scope
    door: Literal["unix", "tcp"]
    session: SessionId | None = None
    token: str | None = None  #: the digest of what they showed

    @property
    def actor(self) -> Actor:
        return Actor.of_session(self.session) if self.session else PERSON

    @property
    def name(self) -> str:
        return str(self.actor)
