"""Sessions that talk: what one answers, every other hears."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from rookery.model.facts import SessionId

RelayId = NewType("RelayId", str)


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """What keeps sessions from talking for ever."""

    hops: int  #: answers to answers since a person or a direct message spoke
    a_minute: int  #: answers of all its members
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
    members: tuple[Member, ...]  #: also those who have left
    limits: RelayLimits
    created_at: datetime
    created_by: str
    closed_at: datetime | None = None
    reason: str = ""
    stayed: str = ""  #: which limit kept an answer from going further, the last time

    @property
    def present(self) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.left_at is None)

    def member(self, session: SessionId) -> Member | None:
        return next((each for each in self.present if each.session == session), None)


def shortened(words: str, longest: int) -> str:
    """Return as much of an answer as is relayed."""
    if len(words) <= longest:
        return words
    return f"{words[:longest]}\n… ({len(words) - longest:,} more characters)"
