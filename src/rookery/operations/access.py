"""Decide which sessions a caller may reach, and find the one that a request names."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext, suppress
from sqlite3 import Connection

from rookery.model.errors import BadInput, Forbidden, SessionUnknown, TokenRevoked
from rookery.model.facts import SessionId
from rookery.model.names import SHOWN_NAME_CHARACTERS
from rookery.model.scopes import MAY, Need, Scope
from rookery.model.sessions import Session
from rookery.operations.context import Caller, Context
from rookery.store import relays, session_families, session_lookup, tokens

#: For these a part in the middle of a name is enough. To end a session, press its keys or
#: decide for it, at least the beginning must be given: a mistake could not be undone.
_BY_PART = frozenset({Need.READ, Need.SPEAK})


def require(caller: Caller, need: Need) -> None:
    """Refuse a caller whose scope does not permit ``need``. Raises ``Forbidden``."""
    if need not in MAY[caller.identity.scope]:
        raise Forbidden(f"a {caller.identity.scope} token may not do this ({need}).")


async def target(context: Context, caller: Caller, name_or_id: str, need: Need) -> Session:
    """Return the session that ``name_or_id`` names, if the caller may do ``need`` with it."""
    return await context.database.read(lambda db: find(context, db, caller, name_or_id, need))


def find(
    context: Context, db: Connection, caller: Caller, name_or_id: str, need: Need
) -> Session:
    """Return the session of this name or id within the caller's reach. Raises ``Forbidden``.

    The refusal is the same whether or not such a session exists elsewhere, so that a caller
    cannot detect sessions that it may not see.
    """
    allowed = reach(context, db, caller, need)
    by_part = need in _BY_PART
    if allowed is None:
        session = session_lookup.resolve(db, name_or_id, by_part=by_part)
        return _speakable(context, caller, session, need)
    with suppress(SessionUnknown):
        session = session_lookup.resolve(db, name_or_id, among=allowed, by_part=by_part)
        return _speakable(context, caller, session, need)
    shown = name_or_id[:SHOWN_NAME_CHARACTERS]
    raise Forbidden(f"{shown} does not exist, or is not in the caller's family ({need}).")


def _speakable(context: Context, caller: Caller, session: Session, need: Need) -> Session:
    """Refuse agents that send text to a plain program, which runs it. Raises ``Forbidden``."""
    is_plain = session.agent in context.agents and context.agents[session.agent].screen is None
    if need is Need.SPEAK and is_plain and caller.identity.scope is Scope.SESSION:
        raise Forbidden(
            f"{session.name} runs every message as a command; only a person may send it one."
        )
    return session


def reach(
    context: Context, db: Connection, caller: Caller, need: Need
) -> set[SessionId] | None:
    """Return the sessions to which the caller may do ``need``; ``None`` means all."""
    calling_session = caller.identity.session
    if calling_session is None:
        return None
    if need is Need.END:
        return session_families.descendants(db, calling_session)
    family = family_of(db, context, caller)
    return None if family is None else family | relays.peers(db, calling_session)


def family_of(db: Connection, context: Context, caller: Caller) -> set[SessionId] | None:
    """Return the caller's family, itself included; ``None`` if it may reach every session."""
    calling_session = caller.identity.session
    if calling_session is None or context.settings.trust.sessions == "all":
        return None
    return session_families.family(db, calling_session)


async def require_own(context: Context, caller: Caller, name_or_id: str) -> Session:
    """Return the session that a request is made for: the caller's; the owner may name any."""
    calling_session = caller.identity.session
    if calling_session is None and not name_or_id:
        raise BadInput("name a session; the caller is not one.", missing="caller")
    among = None if calling_session is None else {calling_session}
    with suppress(SessionUnknown) if calling_session is not None else nullcontext():
        return await context.database.read(
            lambda db: session_lookup.resolve(
                db, name_or_id or str(calling_session), among=among
            )
        )
    raise Forbidden(
        f"a session may only act for itself, not for {name_or_id[:SHOWN_NAME_CHARACTERS]}."
    )


def is_valid(db: Connection, caller: Caller) -> bool:
    """Return whether the caller's token, if it has one, is valid now."""
    token = caller.identity.token
    return token is None or tokens.find(db, token) is not None


def has_access(
    context: Context, db: Connection, caller: Caller, targets: Collection[SessionId]
) -> bool:
    """Return whether the caller's token is valid and it may read all of ``targets``."""
    if not is_valid(db, caller):
        return False
    allowed = reach(context, db, caller, Need.READ) if targets else None
    return allowed is None or allowed.issuperset(targets)


async def require_valid(context: Context, caller: Caller) -> None:
    """Refuse a caller whose token was revoked meanwhile. Raises ``TokenRevoked``."""
    if caller.identity.token and not await context.database.read(
        lambda db: is_valid(db, caller)
    ):
        raise TokenRevoked
