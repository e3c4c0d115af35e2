"""Operations on the labels of sessions: tag, hide and unhide them."""

from __future__ import annotations

from sqlite3 import Connection
from typing import Annotated

from pydantic import Field

from rookery.model.scopes import Need
from rookery.model.sessions import Session
from rookery.operations.access import target
from rookery.operations.context import Caller, Context
from rookery.operations.idempotency import once
from rookery.operations.operation import OfSession
from rookery.sessions import labels
from rookery.store import sessions

#: Tags that one request may name.
MAX_NAMED_TAGS = 100

Tags = Annotated[tuple[str, ...], Field(max_length=MAX_NAMED_TAGS)]


class TagParams(OfSession):
    add: Tags = ()
    remove: Tags = ()


async def tag(context: Context, caller: Caller, params: TagParams) -> Session:
    """Add tags to a session and remove others."""
    session = await target(context, caller, params.session, Need.OWN)

    def write(db: Connection) -> Session:
        labels.tag(db, context.journal, session.id, add=params.add, remove=params.remove)
        return sessions.get(db, session.id)

    return await once(context, caller, Session, write)


async def hide(context: Context, caller: Caller, params: OfSession) -> Session:
    """Leave a session out of the list while it needs no person."""
    session = await target(context, caller, params.session, Need.OWN)

    def write(db: Connection) -> Session:
        labels.hide(db, context.journal, session.id)
        return sessions.get(db, session.id)

    return await once(context, caller, Session, write)


async def unhide(context: Context, caller: Caller, params: OfSession) -> Session:
    """List a session again."""
    session = await target(context, caller, params.session, Need.OWN)

    def write(db: Connection) -> Session:
        labels.unhide(db, context.journal, session.id)
        return sessions.get(db, session.id)

    return await once(context, caller, Session, write)
