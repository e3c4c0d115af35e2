"""Authorization: which caller may request what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rookery.model.actors import PERSON, Actor
from rookery.model.facts import SessionId

#: The maximum nesting depth of started sessions, and the maximum number of live ones.
DEEPEST, MOST_CHILDREN = 3, 20


class Scope(StrEnum):
    OWNER = "owner"  #: everything
    SESSION = "session"  #: a session, identified by its badge, which can reach its family
    READER = "reader"  #: read-only


class Need(StrEnum):
    """The kind of access that an operation needs."""

    READ = "read"
    SPEAK = "speak"
    START = "start"
    END = "end"
    DECIDE = "decide"
    OWN = "own"


#: The kinds of access of each scope; a session has some of them only to its family.
MAY: dict[Scope, frozenset[Need]] = {
    Scope.OWNER: frozenset(Need),
    Scope.SESSION: frozenset({Need.READ, Need.SPEAK, Need.START, Need.END, Need.DECIDE}),
    Scope.READER: frozenset({Need.READ}),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller, as the daemon has identified it; never as the caller claims."""

    scope: Scope
    transport: Literal["unix", "tcp"]
    session: SessionId | None = None
    token: str | None = None  #: the digest of the token that the caller presented

    @property
    def actor(self) -> Actor:
        return Actor.of_session(self.session) if self.session else PERSON

    @property
    def name(self) -> str:
        return str(self.actor)
