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


def require(caller: Caller, need: Need) -> None:
    """Refuse a caller whose scope does not permit ``need``. Raises ``Forbidden``."""
    if need not in MAY[caller.identity.scope]:
        raise Forbidden(f"a {caller.identity.scope} token may not do this ({need}).")


async def target(context: Context, caller: Caller, word: str, need: Need) -> Session:
    """Return the session that ``word`` names, if the caller may do ``need`` to it."""
    return await context.database.read(lambda db: find(context, db, caller, word, need))


def find(context: Context, db: Connection, caller: Caller, word: str, need: Need) -> Session:
    """Return the session that ``word`` names within the caller's reach. Raises ``Forbidden``.

    The refusal is the same whether or not such a session exists elsewhere, so that a caller
    cannot detect sessions that it may not see.
    """
    allowed = reach(context, db, caller, need)
    if allowed is None:
        return _speakable(context, caller, session_lookup.resolve(db, word), need)
    with suppress(SessionUnknown):
        return _speakable(
            context, caller, session_lookup.resolve(db, word, among=allowed), need
        )
    shown = word[:SHOWN_NAME_CHARACTERS]
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
    own = caller.identity.session
    if own is None:
        return None
    if need is Need.END:
        return session_families.descendants(db, own)
    family = family_of(db, context, caller)
    return None if family is None else family | relays.peers(db, own)


def family_of(db: Connection, context: Context, caller: Caller) -> set[SessionId] | None:
    """Return the caller's family, itself included; ``None`` if it may reach every session."""
    own = caller.identity.session
    if own is None or context.settings.trust.sessions == "all":
        return None
    return session_families.family(db, own)


async def require_own(context: Context, caller: Caller, word: str) -> Session:
    """Return the session that a request is made for: the caller's; the owner may name any."""
    own = caller.identity.session
    if own is None and not word:
        raise BadInput("name a session; the caller is not one.", missing="caller")
    among = None if own is None else {own}
    with suppress(SessionUnknown) if own is not None else nullcontext():
        return await context.database.read(
            lambda db: session_lookup.resolve(db, word or str(own), among=among)
        )
    raise Forbidden(
        f"a session may only act for itself, not for {word[:SHOWN_NAME_CHARACTERS]}."
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
