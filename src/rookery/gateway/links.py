"""How a session hears of what comes of its words to another."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from rookery import listeners, relays
from rookery.gateway.table import Caller, House
from rookery.model.facts import SessionId
from rookery.model.listeners import Listener
from rookery.model.messages import MessageId
from rookery.model.relays import Limits
from rookery.sessions import Speaker


@dataclass(frozen=True, slots=True)
class Link:
    """How somebody wants to hear of what comes of their words."""

    target: SessionId
    message: MessageId | None
    direct: bool
    listen: bool


def speaker_of(caller: Caller, *, direct: bool = False) -> Speaker:
    return Speaker(caller.name, caller.identity.session, is_direct=direct)


def link(db: Connection, house: House, caller: Caller, wanted: Link) -> bool:
    """Let a session hear of another: as long as the two talk, or once, when it is done.

    True if it is told now and was not before.
    """
    own = caller.identity.session
    if own is None or own == wanted.target:
        return False
    if wanted.direct:
        relays.join_pair(db, house.journal, (own, wanted.target), limits=limits_of(house))
        return False
    if not wanted.listen:
        return False
    listener = Listener(caller=own, target=wanted.target, message=wanted.message)
    return listeners.listen(db, house.journal, listener)


def limits_of(house: House) -> Limits:
    """Return what keeps sessions from talking for ever, where nothing else is said."""
    usual = house.settings.relays
    return Limits(usual.max_hops, usual.max_a_minute, usual.max_characters)
