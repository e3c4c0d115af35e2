"""Notify a session of the outcome of its messages to another one."""

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
    """How a sender wants to be notified of the outcome of its message."""

    target: SessionId
    message: MessageId | None
    direct: bool
    listen: bool


def speaker_of(caller: Caller, *, direct: bool = False) -> MessageSender:
    return MessageSender(caller.name, caller.identity.session, is_direct=direct)


def link(db: Connection, context: Context, caller: Caller, requested: Link) -> bool:
    """Link the caller to a session: by a relay in which the two talk, or by a listener.

    Return whether a listener was added.
    """
    calling_session = caller.identity.session
    if calling_session is None or calling_session == requested.target:
        return False
    if requested.direct:
        require_family(db, context, caller, {requested.target})
        relays.join_pair(
            db, context.journal, (calling_session, requested.target), limits=limits_of(context)
        )
        return False
    if not requested.listen or not sessions.get(db, calling_session).can_receive:
        return False  # a session without a pane cannot be notified
    listener = Listener(
        caller=calling_session, target=requested.target, message=requested.message
    )
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
