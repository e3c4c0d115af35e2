"""Operations on relays: create, list, show, join, leave and close them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.coordination import relays
from rookery.model.errors import BadInput, Forbidden, RelayUnknown
from rookery.model.facts import SessionId
from rookery.model.relays import Relay, RelayLimits
from rookery.model.scopes import Need, Scope
from rookery.operations.access import family_of, target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import Params
from rookery.operations.outcome_listeners import limits_of, require_family
from rookery.store import relays as stored_relays
from rookery.store import sessions
from rookery.store.relays import RelayedWords

#: Hops (relayed answers in a row) that a session may allow in a relay without a person.
MAX_HOPS = 50

#: How long closed relays are listed.
LISTED = timedelta(hours=1)


class Participant(Params):
    session: str
    name: str = Field(
        "", description="what the others call it; else its own name", max_length=60
    )


class RelayParams(Params):
    members: Annotated[
        tuple[Participant, ...], Field(min_length=2, max_length=relays.MAX_MEMBERS)
    ]
    max_hops: Annotated[int, Field(ge=1, le=1_000)] | None = None
    max_a_minute: Annotated[int, Field(ge=1, le=10_000)] | None = None


class OfRelay(Params):
    relay: str = Field(description="its id, or the beginning of it")


class ShowParams(OfRelay):
    last: Annotated[int, Field(ge=1, le=10_000)] = 200


class RelaysParams(Params):
    session: str = Field("", description="only those that this one is in")
    all: bool = False


class MemberParams(OfRelay):
    session: str
    name: str = Field("", max_length=60)


@dataclass(frozen=True, slots=True)
class RelayList:
    relays: list[Relay]


@dataclass(frozen=True, slots=True)
class Exchange:
    relay: Relay
    said: list[RelayedWords]


async def create(context: Context, caller: Caller, params: RelayParams) -> Relay:
    """Open a relay: the answers of each session are sent to all others."""
    found = [
        (await target(context, caller, each.session, Need.SPEAK), each.name)
        for each in params.members
    ]
    calling_session = caller.identity.session
    if calling_session is not None and calling_session not in {
        session.id for session, _ in found
    }:
        raise Forbidden("a session may only open relays of which it is a member.")
    limits = _limits(context, caller, params)

    def write(db: Connection) -> Relay:
        members = [(session.id, name) for session, name in found]
        require_family(db, context, caller, {session for session, _ in members})
        return relays.create(db, context.journal, members, by=caller.name, limits=limits)

    return await once(context, caller, Relay, write)


def _limits(context: Context, caller: Caller, params: RelayParams) -> RelayLimits:
    """Return a relay's limits. Raises ``Forbidden`` above what a session may allow."""
    usual = limits_of(context)
    hops, a_minute = params.max_hops or usual.hops, params.max_a_minute or usual.a_minute
    if caller.identity.scope is Scope.SESSION:
        limit = max(MAX_HOPS, usual.hops)
        if hops > limit or a_minute > usual.a_minute:
            limits = f"{limit} relayed answers in a row and {usual.a_minute} messages a minute"
            raise Forbidden(f"a session may open a relay for at most {limits}.")
    return RelayLimits(hops, a_minute, usual.length)


async def list_relays(context: Context, caller: Caller, params: RelaysParams) -> RelayList:
    """List the open relays and those that were closed recently."""
    only = await target(context, caller, params.session, Need.READ) if params.session else None
    now = context.journal.clock.now()
    since = datetime.fromtimestamp(0, now.tzinfo) if params.all else now - LISTED

    def read(db: Connection) -> RelayList:
        allowed = family_of(db, context, caller)
        listed = stored_relays.listed(db, closed_after=since)
        return RelayList(
            [
                each
                for each in listed
                if _is_of(each, allowed) and (only is None or _is_of(each, {only.id}))
            ]
        )

    return await context.database.read(read)


def _is_of(relay: Relay, allowed: set[SessionId] | None) -> bool:
    return allowed is None or any(each.session in allowed for each in relay.members)


async def show(context: Context, caller: Caller, params: ShowParams) -> Exchange:
    """Show a relay, and what was said in it."""

    def read(db: Connection) -> Exchange:
        relay = _require(db, context, caller, params.relay)
        return Exchange(relay, stored_relays.exchange(db, relay.id, last=params.last))

    return await context.database.read(read)


async def join(context: Context, caller: Caller, params: MemberParams) -> Relay:
    """Add a session to a relay."""
    session = await target(context, caller, params.session, Need.SPEAK)

    def write(db: Connection) -> Relay:
        relay = _require(db, context, caller, params.relay)
        talking = {each.session for each in relay.present}
        require_family(db, context, caller, {session.id, *talking})
        relays.join(db, context.journal, relay.id, session.id, name=params.name)
        return stored_relays.get(db, relay.id)

    return await once(context, caller, Relay, write)


async def leave(context: Context, caller: Caller, params: MemberParams) -> Relay:
    """Remove a session from a relay; the others are notified."""
    session = await target(context, caller, params.session, Need.READ)
    if caller.identity.session not in {None, session.id}:
        raise Forbidden("a session may only leave a relay itself.")

    def write(db: Connection) -> Relay:
        relay = _require(db, context, caller, params.relay)
        reason = f"{caller.name} took it out" if caller.identity.session is None else "it left"
        if not relays.leave(db, context.journal, relay.id, session.id, reason=reason):
            raise BadInput(f"{session.name} is not in the relay {relay.id}.")
        return stored_relays.get(db, relay.id)

    return await once(context, caller, Relay, write)


async def close(context: Context, caller: Caller, params: OfRelay) -> Relay:
    """Close a relay; its members are notified and keep working."""

    def write(db: Connection) -> Relay:
        relay = _require(db, context, caller, params.relay)
        calling_session = caller.identity.session
        name = sessions.get(db, calling_session).name if calling_session else caller.name
        reason = f"closed by {name}"
        relays.close(db, context.journal, relay.id, by=caller.name, reason=reason)
        return stored_relays.get(db, relay.id)

    return await once(context, caller, Relay, write)


def _require(db: Connection, context: Context, caller: Caller, relay_id: str) -> Relay:
    """Return a relay; to a session, one that it is in, or was in when the relay was closed.

    A session that left, or was taken out, has no more access. Raises ``Forbidden``, also if
    there is no such relay: a session must not learn of relays of others.
    """
    calling_session = caller.identity.session
    if calling_session is None or context.settings.trust.sessions == "all":
        return stored_relays.get(db, relay_id)
    with suppress(RelayUnknown):
        relay = stored_relays.get(db, relay_id)
        stayed = {None, relay.closed_at}
        if calling_session in {
            each.session for each in relay.members if each.left_at in stayed
        }:
            return relay
    raise Forbidden(f"the relay {relay_id[:40]} does not exist, or the caller is not a member.")
