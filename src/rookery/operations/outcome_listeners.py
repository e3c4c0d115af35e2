"""Let a session hear of the outcome of its messages to another one."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from sqlite3 import Connection

from rookery.coordination import listeners, relays
from rookery.model.errors import Forbidden
from rookery.model.facts import SessionId
from rookery.model.listeners import Listener
from rookery.model.messages import MessageId
from rookery.model.relays import RelayLimits
from rookery.operations.access import family_of
from rookery.operations.context import Caller, Context
from rookery.sessions.commands import MessageSender
from rookery.store import sessions


@dataclass(frozen=True, slots=True)
class Link:
    """How a sender wants to hear of the outcome of its message."""

    target: SessionId
    message: MessageId | None
    direct: bool
    listen: bool


def speaker_of(caller: Caller, *, direct: bool = False) -> MessageSender:
    return MessageSender(caller.name, caller.identity.session, is_direct=direct)


def link(db: Connection, context: Context, caller: Caller, wanted: Link) -> bool:
    """Link the caller to a session: by a relay in which the two talk, or by a listener.

    Return whether a listener was added.
    """
    own = caller.identity.session
    if own is None or own == wanted.target:
        return False
    if wanted.direct:
        require_family(db, context, caller, {wanted.target})
        relays.join_pair(db, context.journal, (own, wanted.target), limits=limits_of(context))
        return False
    if not wanted.listen or not sessions.get(db, own).can_receive:
        return False  # a session without a pane cannot be notified
    listener = Listener(caller=own, target=wanted.target, message=wanted.message)
    return listeners.listen(db, context.journal, listener)


def require_family(
    db: Connection, context: Context, caller: Caller, members: AbstractSet[SessionId]
) -> None:
    """Refuse a relay with members outside the caller's family. Raises ``Forbidden``.

    A session that the caller only knows from a relay of another family must not be passed on
    to other sessions, and is out of the caller's reach once that relay is closed.
    """
    allowed = family_of(db, context, caller)
    if allowed is not None and not members <= allowed:
        raise Forbidden("a session may only put its family into a relay.")


def limits_of(context: Context) -> RelayLimits:
    """Return the default limits of relays, which keep sessions from talking for ever."""
    usual = context.settings.relays
    return RelayLimits(usual.max_hops, usual.max_a_minute, usual.max_characters)
