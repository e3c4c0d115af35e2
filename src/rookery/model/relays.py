"""Relays: groups of sessions in which each answer is sent to every other member."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from rookery.model.facts import SessionId

RelayId = NewType("RelayId", str)


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """What keeps sessions from talking for ever."""

    hops: int  #: consecutive relayed answers since a message of a person or a direct message
    a_minute: int  #: answers per minute, of all members together
    length: int  #: characters of one answer


@dataclass(frozen=True, slots=True)
class Member:
    session: SessionId
    name: str
    number: int
    since: int = 0  #: the last entry before it joined
    left_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Relay:
    id: RelayId
    members: tuple[Member, ...]  #: including former members
    limits: RelayLimits
    created_at: datetime
    created_by: str
    closed_at: datetime | None = None
    reason: str = ""
    stayed: str = ""  #: the limit that last kept an answer from being relayed

    @property
    def present(self) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.left_at is None)

    def member(self, session: SessionId) -> Member | None:
        return next((each for each in self.present if each.session == session), None)


def shortened(words: str, longest: int) -> str:
    """Return the part of an answer that is relayed."""
    if len(words) <= longest:
        return words
    return f"{words[:longest]}\n… ({len(words) - longest:,} more characters)"
